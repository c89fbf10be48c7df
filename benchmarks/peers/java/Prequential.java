package clasher;

import com.yahoo.labs.samoa.instances.Instance;
import com.yahoo.labs.samoa.instances.MultiLabelInstance;
import com.yahoo.labs.samoa.instances.Prediction;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import moa.classifiers.Classifier;
import moa.classifiers.MultiLabelLearner;
import moa.core.InstanceExample;
import moa.options.ClassOption;
import moa.streams.MultiTargetArffFileStream;

/**
 * Predicts each document of a stream, then learns it if it has labels.
 *
 * <p>Writes the numbers of the predicted labels to a file, one line per document ("2,10"). Prints
 * one line per point: documents, seconds, current and peak bytes of memory. The first line is for
 * zero documents, before the clock starts.
 */
public final class Prequential {
  private final PrintStream out;
  private final long began;

  private Prequential(PrintStream out) {
    this.out = out;
    report(0, 0);
    this.began = System.nanoTime();
  }

  /**
   * Runs a learner.
   *
   * @param given the learner in MOA's notation, the stream, the number of labels, a file with one
   *     byte per document (0: no labels to learn), the file for predictions, the time limit in
   *     seconds, and the points
   */
  public static void main(String[] given) throws Exception {
    PrintStream out = System.out;
    System.setOut(System.err); // MOA and MEKA print messages
    // stop when the parent process ends
    ProcessHandle.current().parent().ifPresent(
        parent -> parent.onExit().thenRun(() -> Runtime.getRuntime().halt(1)));
    MultiTargetArffFileStream stream = new MultiTargetArffFileStream(given[1], "1-" + given[2]);
    stream.prepareForUse();
    MultiLabelLearner learner =
        (MultiLabelLearner) ClassOption.cliStringToObject(given[0], Classifier.class, null);
    learner.setModelContext(stream.getHeader());
    learner.prepareForUse();
    byte[] learnt = Files.readAllBytes(Path.of(given[3]));
    double limit = Double.parseDouble(given[5]);
    Set<Integer> points = new HashSet<>();
    for (int i = 6; i < given.length; i++) {
      points.add(Integer.valueOf(given[i]));
    }
    try (PrintWriter predictions = new PrintWriter(given[4])) {
      new Prequential(out).run(stream, learner, learnt, predictions, limit, points);
    }
  }

  private void run(
      MultiTargetArffFileStream stream, MultiLabelLearner learner, byte[] learnt,
      PrintWriter predictions, double limit, Set<Integer> points) {
    Threshold threshold = new Threshold();
    int documents = 0;
    boolean going = true;
    while (going && stream.hasMoreInstances()) {
      InstanceExample example = stream.nextInstance();
      MultiLabelInstance document = (MultiLabelInstance) example.getData();
      double[] votes = votes(learner.getPredictionForInstance(example), document);
      predictions.println(threshold.labels(votes));
      if (learnt[documents++] != 0) {
        threshold.learn(votes, document);
        learner.trainOnInstance(example);
      }
      double seconds = (System.nanoTime() - began) / 1e9;
      going = seconds <= limit;
      if (points.contains(documents) || !going) {
        report(documents, seconds);
      }
    }
  }

  private static double[] votes(Prediction prediction, Instance document) {
    double[] votes = new double[document.numberOutputTargets()];
    for (int label = 0; label < votes.length; label++) {
      votes[label] = prediction == null ? 0 : prediction.getVote(label, 1); // null: knows nothing
    }
    return votes;
  }

  private void report(int documents, double seconds) {
    out.println(documents + " " + seconds + " " + memory("VmRSS:") + " " + memory("VmHWM:"));
  }

  /** Returns bytes of this process by their name in Linux; elsewhere, those of the heap. */
  private static long memory(String name) {
    try {
      for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
        if (line.startsWith(name)) {
          return 1024 * Long.parseLong(line.replaceAll("\\D", ""));
        }
      }
    } catch (java.io.IOException elsewhere) {
      // not Linux
    }
    return Runtime.getRuntime().totalMemory();
  }
}
