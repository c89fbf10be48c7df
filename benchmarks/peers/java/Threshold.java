package clasher;

import com.yahoo.labs.samoa.instances.Instance;
import java.util.ArrayList;
import meka.core.ThresholdUtils;

/**
 * The vote from which on a label is predicted: the one that would have given the documents of the
 * last window as many labels as they had (Read et al., 2012; "PCut1" in MEKA).
 */
final class Threshold {
  private static final int WINDOW = 500;

  private final ArrayList<double[]> window = new ArrayList<>();
  private double labels = 0;
  private double threshold = 0.5;

  /** The numbers of the predicted labels, as they are written. */
  String labels(double[] votes) {
    StringBuilder numbers = new StringBuilder();
    for (int label = 0; label < votes.length; label++) {
      if (votes[label] >= threshold) {
        numbers.append(numbers.length() == 0 ? "" : ",").append(label);
      }
    }
    return numbers.toString();
  }

  /** Counts a document with its votes and its true labels. */
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
