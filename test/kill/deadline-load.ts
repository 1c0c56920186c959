import { setTimeout as delay } from 'node:timers/promises';
import { user } from '../servers/client.ts';
import { until } from '../until.ts';
import { acceptedRun, Errand, soon, startLoad, type Interrupt, type Load, type Means } from './load.ts';

/** Questions that are open at a time. */
const questions = 2;
/** How long they may be answered, in milliseconds. */
const shortestMs = 500;
const longestMs = 12_000;
/** Half of the answers come at once, the others so long before the deadline or after it, in milliseconds: who comes first is open. */
const aroundMs = 300;

/** Asks questions that have a deadline, and answers them about then: one of deadline and answer counts, and a caller who is late learns which. */
export const startDeadlineLoad = (means: Means): Load =>
  startLoad({
    name: 'deadline',
    count: questions,
    needs: ['asked'],
    begin: (threadId) => new Question(threadId, 'deadlines', means),
  });

interface Run {
  readonly status: string;
  readonly resumes?: string;
  readonly deadline?: string;
}

class Question extends Errand {
  async make(): Promise<void> {
    const asking = { deadline: Math.round(shortestMs + this.random() * (longestMs - shortestMs)), default: 'default' };
    const asked = await this.start({ messages: [user(JSON.stringify(asking))] });
    const { status, interrupts, isFailedByClaims } = await this.ended(asked);
    if (isFailedByClaims) return;
    const [question] = interrupts;
    if (status !== 'interrupted' || !question?.deadline) throw new Error(`run ${asked} is ${status}`);
    this.count('asked');
    if (this.random() < 0.5)
      await delay(Math.max(0, Date.parse(question.deadline) - Date.now() + (this.random() * 2 - 1) * aroundMs));
    const reply = await this.sendRun({ messages: [], resume: { [question.id]: 'answer' } });
    if (reply.status === 202) await this.#answered(asked, acceptedRun(reply));
    else if (reply.status === 409) await this.#passed(asked, question, JSON.stringify(reply.body));
    else this.faults.push(`an answer got ${String(reply.status)} ${JSON.stringify(reply.body)}`);
  }

  async #answered(asked: string, next: string): Promise<void> {
    this.count('answered in time');
    await this.#checkNext(asked, next, 'answer');
    // The sweep over deadlines has found that this one is over.
    await until(async () => (await this.#run(asked)).deadline === undefined, soon);
    await this.#checkRuns(asked, next);
  }

  /** The refusal of a late answer names the run that went on in its place. */
  async #passed(asked: string, { id, deadline = '' }: Interrupt, text: string): Promise<void> {
    this.count('answered too late');
    const next = (await this.runsOf(this.threadId)).map(({ run_id }) => run_id).find((run) => run !== asked);
    if (next === undefined || ![next, id, deadline].every((part) => text.includes(part))) {
      this.faults.push(`an answer was refused with ${text} while run ${String(next)} went on at ${deadline}`);
      return;
    }
    await this.#checkNext(asked, next, 'default');
    await this.#checkRuns(asked, next);
  }

  /** The run that goes on has what counts, and says of which it is the next. */
  async #checkNext(asked: string, next: string, expected: string): Promise<void> {
    const { isFailedByClaims } = await this.ended(next);
    const { resumes } = await this.#run(next);
    if (resumes !== asked) this.faults.push(`run ${next} goes on with ${String(resumes)}, not with ${asked}`);
    const { answers } = (await this.stateOf(this.threadId)) as { readonly answers: readonly unknown[] };
    if (answers.join() !== (isFailedByClaims ? '' : expected))
      this.faults.push(`its state says ${JSON.stringify(answers)}, not ${expected}`);
  }

  async #checkRuns(asked: string, next: string): Promise<void> {
    const runs = (await this.runsOf(this.threadId)).map(({ run_id }) => run_id);
    if (runs.toSorted().join() !== [asked, next].toSorted().join())
      this.faults.push(`its runs are ${runs.join()}, not ${asked} and ${next}`);
  }

  async #run(runId: string): Promise<Run> {
    return (await this.send('GET', `/v1/runs/${runId}`)).body.data;
  }
}
