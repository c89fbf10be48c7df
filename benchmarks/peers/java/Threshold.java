package clasher;

import com.yahoo.labs.samoa.instances.Instance;
import java.util.ArrayList;
import meka.core.ThresholdUtils;

/**
 * The vote that a label needs. It is chosen so that the documents of the last window would have had
 * the right number of labels (Read et al., 2012; "PCut1" in MEKA).
 */
final class Threshold {
  private static final int WINDOW = 500;

  private final ArrayList<double[]> window = new ArrayList<>();
  private double labels = 0;
  private double threshold = 0.5;

  /** Formats the numbers of the predicted labels. */
  String labels(double[] votes) {
    StringBuilder numbers = new StringBuilder();
    for (int label = 0; label < votes.length; label++) {
      if (votes[label] >= threshold) {
        numbers.append(numbers.length() == 0 ? "" : ",").append(label);
      }
    }
    return numbers.toString();
  }

  /** Adds the votes and true labels of a document. */
  void learn(double[] votes, Instance document) {
    window.add(votes);
    for (int label = 0; label < votes.length; label++) {
      labels += document.classValue(label);
    }
    if (window.size() == WINDOW) {
      threshold = ThresholdUtils.calibrateThreshold(window, labels / WINDOW);
      window.clear();
      labels = 0;
    }
  }
}
