package clasher;

import com.yahoo.labs.samoa.instances.Instance;
import com.yahoo.labs.samoa.instances.MultiLabelInstance;
import com.yahoo.labs.samoa.instances.MultiLabelPrediction;
import com.yahoo.labs.samoa.instances.Prediction;
import moa.classifiers.Classifier;
import moa.classifiers.multilabel.MultilabelHoeffdingTree;

/**
 * MOA's multi-label Hoeffding tree, with the learner of option -a at the leaves.
 *
 * <p>MOA's own tree ignores the option and always has pruned sets there.
 */
public class LeafTree extends MultilabelHoeffdingTree {
  private static final long serialVersionUID = 1L;

  /** Makes the first leaf; as in MOA, leaves of a split copy the learner of their parent. */
  @Override
  protected LearningNode newLearningNode(double[] observations) {
    return newLearningNode(observations, (Classifier) getPreparedClassOption(learnerOption));
  }

  /** Keeps a leaf active even if no split improves it: MOA cannot predict from it otherwise. */
  @Override
  protected void deactivateLearningNode(ActiveLearningNode leaf, SplitNode parent, int branch) {}

  @Override
  public Prediction getPredictionForInstance(MultiLabelInstance document) {
    if (treeRoot == null) {
      return new MultiLabelPrediction(document.numberOutputTargets());
    }
    Node leaf = treeRoot.filterInstanceToLeaf(document, null, -1).node;
    return ((MultilabelLearningNodeClassifier) leaf).getPredictionForInstance(document, this);
  }

  /** Returns a vote per label; for some learners, MOA returns votes on the first label only. */
  @Override
  public double[] getVotesForInstance(Instance document) {
    Prediction prediction = getPredictionForInstance((MultiLabelInstance) document);
    double[] votes = new double[document.numberOutputTargets()];
    for (int label = 0; label < votes.length; label++) {
      votes[label] = prediction.getVote(label, 1);
    }
    return votes;
  }
}
