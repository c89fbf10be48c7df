"""What runs on Java, by its Maven coordinates.

``python -m tests.kafka.maven`` downloads all that ``make test-kafka`` needs.
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
  <dependencies>
    <dependency>
      <groupId>{0}</groupId>
      <artifactId>{1}</artifactId>
      <version>{2}</version>
    </dependency>
  </dependencies>
</project>
"""


def jars(coordinates: str, folder: Path) -> Path:
    """The jars of something and of all that it needs, downloaded once."""
    found = folder / "jars"
    if (folder / "complete").exists():
        return found
    for program in ("mvn", "java"):
        if shutil.which(program) is None:
            raise SystemExit(f"nothing of Java without {program} (packages maven, default-jre)")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pom.xml").write_text(POM.format(*coordinates.split(":")))
    run = subprocess.run(
        ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime",
         "-DoutputDirectory=jars"],
        cwd=folder, capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    if run.returncode:
        said = [line for line in run.stdout.splitlines() if "ERROR" in line]
        raise SystemExit(f"Maven has not got {coordinates}: {said[0] if said else ''}")
    (folder / "complete").touch()
    return found


def spark_connector() -> list[Path]:
    """Spark's own connector to Kafka."""
    import pyspark

    version = pyspark.__version__
    name = f"spark-sql-kafka-0-10_2.13:{version}"
    return sorted(jars(f"org.apache.spark:{name}", BUILD / f"spark-kafka-{version}").glob("*.jar"))


if __name__ == "__main__":
    from tests.kafka.brokers import download

    download()
    spark_connector()
