"""Java programs by their Maven coordinates.

``python -m support.servers.kafka_maven`` downloads what ``make test-kafka`` needs.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

BUILD = Path(__file__).parents[2] / "build"
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>clasher</groupId>
  <artifactId>test-kafka</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>{}
  </dependencies>
</project>
"""
DEPENDENCY = """
    <dependency>
      <groupId>{}</groupId>
      <artifactId>{}</artifactId>
      <version>{}</version>
      {}
    </dependency>"""
ALONE = """<exclusions><exclusion>
        <groupId>*</groupId><artifactId>*</artifactId>
      </exclusion></exclusions>"""
CONNECTED = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.12.1",
)
"""Spark's connector to Kafka and the libraries that Spark lacks."""


def jars(folder: Path, *coordinates: str, alone: bool = False) -> Path:
    """Download jars once, with their dependencies unless ``alone``."""
    found = folder / "jars"
    if (folder / "complete").exists():
        return found
    for program in ("mvn", "java"):
        if shutil.which(program) is None:
            raise SystemExit(f"{program} is missing (packages maven, default-jre)")
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [DEPENDENCY.format(*one.split(":"), ALONE if alone else "") for one in coordinates]
    (folder / "pom.xml").write_text(POM.format("".join(wanted)))
    run = subprocess.run(
        ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime",
         "-DoutputDirectory=jars"],
        cwd=folder, capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    if run.returncode:
        errors = [line for line in run.stdout.splitlines() if "ERROR" in line]
        raise SystemExit(f"Maven cannot get {coordinates[0]}: {errors[0] if errors else ''}")
    (folder / "complete").touch()
    return found


def spark_connector() -> list[Path]:
    """Return the jars of Spark's connector to Kafka."""
    found = jars(BUILD / "spark-kafka", *CONNECTED, alone=True)
    return sorted(found.glob("*.jar"))


if __name__ == "__main__":
    from support.servers.kafka import download

    download()
    spark_connector()
