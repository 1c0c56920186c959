import { checkAnswer, firstAnswer, type Resume } from '../../ui/questions/answer.ts';
import { decisionsOf } from '../../ui/questions/decisions.ts';
import type { Question } from '../../ui/questions/question.ts';

/** The answers that approve or reject all of these questions; `undefined` where one wants more than a word. */
export async function verdictOn(
  questions: readonly Question[],
  kind: 'approve' | 'reject',
): Promise<Resume | undefined> {
  const answers = await Promise.all(
    questions.map(async (question) => {
      const decisions = decisionsOf(question);
      const choice = decisions?.choices.find((each) => each.kind === kind);
      if (!decisions || !choice) return undefined;
      const first = firstAnswer(question);
      const texts = { ...first.texts, [decisions.field]: choice.json };
      const read = await checkAnswer(question, { ...first, texts });
      return 'value' in read ? ([question.id, read.value] as const) : undefined;
    }),
  );
  const given = answers.filter((answer) => answer !== undefined);
  return given.length > 0 && given.length === questions.length ? Object.fromEntries(given) : undefined;
}
