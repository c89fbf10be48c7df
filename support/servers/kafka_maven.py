"""What runs on Java, by its Maven coordinates.

``python -m support.servers.kafka_maven`` downloads all that ``make test-kafka`` needs.
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
"""Spark's connector and what it needs that Spark has not, in the newest versions to be had."""


def jars(folder: Path, *coordinates: str, alone: bool = False) -> Path:
    """Jars, with all that they need unless ``alone``, downloaded once."""
    found = folder / "jars"
    if (folder / "complete").exists():
        return found
    for program in ("mvn", "java"):
        if shutil.which(program) is None:
            raise SystemExit(f"nothing of Java without {program} (packages maven, default-jre)")
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [DEPENDENCY.format(*one.split(":"), ALONE if alone else "") for one in coordinates]
    (folder / "pom.xml").write_text(POM.format("".join(wanted)))
    run = subprocess.run(
        ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime",
         "-DoutputDirectory=jars"],
        cwd=folder, capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    if run.returncode:
        said = [line for line in run.stdout.splitlines() if "ERROR" in line]
        raise SystemExit(f"Maven has not got {coordinates[0]}: {said[0] if said else ''}")
    (folder / "complete").touch()
    return found


def spark_connector() -> list[Path]:
    """Spark's own connector to Kafka."""
    found = jars(BUILD / "spark-kafka", *CONNECTED, alone=True)
    return sorted(found.glob("*.jar"))


if __name__ == "__main__":
    from support.servers.kafka import download

    download()
    spark_connector()
