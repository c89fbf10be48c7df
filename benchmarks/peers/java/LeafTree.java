package clasher;

import com.yahoo.labs.samoa.instances.Instance;
import com.yahoo.labs.samoa.instances.MultiLabelInstance;
import com.yahoo.labs.samoa.instances.MultiLabelPrediction;
import com.yahoo.labs.samoa.instances.Prediction;
import moa.classifiers.Classifier;
import moa.classifiers.multilabel.MultilabelHoeffdingTree;

/**
 * MOA's multi-label Hoeffding tree, with the learner that its option -a names at the leaves.
 *
 * <p>The tree itself has pruned sets there, whatever is asked for.
 */
public class LeafTree extends MultilabelHoeffdingTree {
  private static final long serialVersionUID = 1L;

  /** A first leaf; those of a split start with a copy of their parent's learner, as in MOA. */
  @Override
  protected LearningNode newLearningNode(double[] observations) {
    return newLearningNode(observations, (Classifier) getPreparedClassOption(learnerOption));
  }

  /** A leaf that no split would improve goes on learning: MOA cannot predict from it otherwise. */
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

  /** The vote for each label; MOA has those for and against the first one of some learners. */
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
