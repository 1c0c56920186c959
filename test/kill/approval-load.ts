import { setTimeout as delay } from 'node:timers/promises';
import type { Reply } from '../servers/client.ts';
import { user } from '../servers/client.ts';
import { until } from '../until.ts';
import { acceptedRun, Errand, soon, startLoad, type Load, type Means } from './load.ts';

/** Questions that are open at a time. */
const questions = 3;
const managers = ['boris', 'clara', 'dora', 'emil'] as const;
/** How long those with a deadline may be answered, in milliseconds. */
const shortestMs = 500;
const longestMs = 6000;

/** `access` of `service.json`: who may answer. */
export const approvalAccess = {
  roles: { manager: { is: 'approver' }, clerk: { is: 'approver', nodes: ['other'] } },
} as const;

/** Asks managers, who answer side by side and each of them again. At the end the record says whose answers let the run go on, once. */
export const startApprovalLoad = (means: Means): Load =>
  startLoad({
    name: 'approval',
    count: questions,
    needs: ['answered', 'answers sent again', 'refused'],
    begin: (threadId) => new Approval(threadId, 'approvals', means),
  });

interface Shown {
  readonly question_id: string;
  readonly thread_id: string;
}

interface Answered {
  readonly status: 'waiting' | 'answered' | 'differs';
}

interface Run {
  readonly run_id: string;
  readonly resumes?: string;
  readonly answered_by?: readonly { readonly by: string; readonly client: string }[];
}

/** What a manager answers, and the replies to it that were a success. */
interface Answer {
  readonly by: string;
  readonly value: string;
  readonly taken: Answered['status'][];
}

class Approval extends Errand {
  async make(): Promise<void> {
    const quorum = 1 + Math.floor(this.random() * 3);
    const deadline = this.random() < 0.4 ? shortestMs + this.random() * (longestMs - shortestMs) : undefined;
    const due = deadline !== undefined && { deadline: Math.round(deadline), default: 'default' };
    const options = { to: ['manager'], notOwner: true, quorum, ...due };
    const asked = await this.start({ messages: [user(JSON.stringify(options))] });
    const { status, interrupts, isFailedByClaims } = await this.ended(asked);
    if (isFailedByClaims) return;
    if (status !== 'interrupted' || !interrupts[0]) throw new Error(`run ${asked} is ${status}`);
    const questionId = await this.#find();
    if (questionId === undefined && !deadline) throw new Error(`no manager finds the question of run ${asked}`);
    const answers = questionId === undefined ? [] : await this.#answer(questionId, interrupts[0].deadline);
    await this.#checkEnd(asked, { quorum, answers, hasDeadline: deadline !== undefined });
    for (const answer of answers) if (answer.taken.length > 0) await this.#sendAgain(questionId ?? '', answer);
  }

  async #find(): Promise<string | undefined> {
    for (let cursor = ''; ;) {
      const { body } = await this.send('GET', `/v1/questions?agent=approvals${cursor}`, undefined, as('boris'));
      const { questions, cursor: next } = body.data as {
        readonly questions: readonly Shown[];
        readonly cursor?: string;
      };
      const found = questions.find(({ thread_id }) => thread_id === this.threadId);
      if (found || next === undefined) return found?.question_id;
      cursor = `&cursor=${next}`;
    }
  }

  /** Half of the answers to a question with a deadline come about when it passes. */
  async #answer(questionId: string, deadline: string | undefined): Promise<readonly Answer[]> {
    await this.#tryOthers(questionId, deadline === undefined);
    const waitMs = deadline !== undefined && this.random() < 0.7 ? Date.parse(deadline) - Date.now() : 0;
    const answers = managers.map((by): Answer => ({ by, value: this.random() < 0.1 ? 'no' : 'yes', taken: [] }));
    const delays = answers.map(() => Math.max(0, waitMs + (this.random() - 0.5) * 400));
    await Promise.all(
      answers.map(async (answer, index) => {
        await delay(delays[index]);
        await Promise.all([this.#send(questionId, answer), this.#send(questionId, answer)]);
      }),
    );
    return answers;
  }

  /** Sends one answer until the service says what became of it. */
  async #send(questionId: string, { by, value, taken }: Answer): Promise<Reply> {
    for (;;) {
      const reply = await this.#post(questionId, value, as(by));
      const isAtWork = reply.status === 409 && JSON.stringify(reply.body).includes('try again');
      if (reply.status === 200) taken.push((reply.body.data as Answered).status);
      else if (![404, 409].includes(reply.status)) this.#note(`an answer of ${by}`, reply);
      if (!isAtWork) return reply;
    }
  }

  /** The same answer that was taken is one answer, also when the run has gone on; one to a question that has passed is none. */
  async #sendAgain(questionId: string, answer: Answer): Promise<void> {
    const { status } = await this.#send(questionId, answer);
    this.count('answers sent again');
    if (this.counts['passed'] === undefined && status !== 200)
      this.faults.push(
        `the answer of ${answer.by}, taken as ${answer.taken.join()}, was ${String(status)} when sent again`,
      );
  }

  /** The owner has no answer to it, nor has who lacks the role. */
  async #tryOthers(questionId: string, isOpen: boolean): Promise<void> {
    for (const headers of [as('alice'), as('carol', 'none'), as('carol', 'clerk')]) {
      const reply = await this.#post(questionId, 'yes', headers);
      this.count('refused');
      if (reply.status !== 404) this.#note(`an answer of ${headers['x-user']}, ${headers['x-roles']},`, reply);
    }
    if (!isOpen) return;
    const resumed = await this.sendRun({ messages: [], resume: 'yes' });
    if (resumed.status !== 403) this.#note('an answer of the owner', resumed);
    const begun = await this.sendRun({ messages: [user('{}')] });
    if (begun.status !== 409) this.#note('a message beside the question', begun);
  }

  /** The run went on once, with what was answered, and names those whose answers were taken. */
  async #checkEnd(asked: string, { quorum, answers, hasDeadline }: Expected): Promise<void> {
    const taken = answers.filter(({ taken }) => taken.length > 0);
    const ends = new Set(taken.flatMap(({ taken }) => taken.filter((status) => status !== 'waiting')));
    if (ends.size > 1) this.faults.push(`it ended as ${[...ends].join()}`);
    if (ends.size === 0 && !hasDeadline) throw new Error(`${JSON.stringify(answers)} do not answer it`);
    if (ends.size === 0) await until(async () => (await this.runsOf(this.threadId)).length > 1, soon);
    const last = await this.#lastAfter(asked);
    const by = last.answered_by?.map(({ by }) => by) ?? [];
    const [end = 'passed'] = ends;
    this.count(end === 'differs' ? 'differing' : end);
    const expected = end === 'passed' ? [] : taken.map(({ by }) => by);
    if (by.toSorted().join() !== expected.toSorted().join())
      this.faults.push(`run ${last.run_id} (${end}) is answered by ${by.join()}, not by ${JSON.stringify(answers)}`);
    const values = new Set(taken.map(({ value }) => value));
    if (end === 'answered' && (by.length !== quorum || values.size !== 1))
      this.faults.push(`${JSON.stringify(answers)} made a quorum of ${String(quorum)}`);
    if (end === 'differs' && values.size !== 2) this.faults.push(`${JSON.stringify(answers)} do not differ`);
    const names = by.map((name) => `${name} (v1)`).join(', ');
    const value = end === 'passed' ? 'default' : [...values][0];
    await this.#checkText(end === 'differs' ? `${names} differ` : `answer ${JSON.stringify(value)} by ${names}`);
  }

  /** The run that went on; one that was killed three times within its step is tried again, with the same answer. */
  async #lastAfter(asked: string): Promise<Run> {
    const runs = (await this.runsOf(this.threadId)).map(({ run_id }) => run_id).filter((run) => run !== asked);
    const [next = ''] = runs;
    if (runs.length !== 1) throw new Error(`after run ${asked} come the runs ${runs.join()}`);
    for (let runId = next; ;) {
      const { status, isFailedByClaims } = await this.ended(runId);
      const { resumes } = await this.#run(next);
      if (resumes !== asked) this.faults.push(`run ${next} goes on with ${String(resumes)}, not with ${asked}`);
      if (status !== 'completed' && !isFailedByClaims) throw new Error(`run ${runId} is ${status}`);
      if (!isFailedByClaims) return this.#run(runId);
      runId = acceptedRun(await this.change(`/v1/runs/${runId}/retry`, {}));
    }
  }

  async #checkText(expected: string): Promise<void> {
    const { body } = await this.send('GET', `/v1/threads/${this.threadId}/messages`);
    const { messages } = body.data as {
      readonly messages: readonly { readonly role: string; readonly content: readonly { readonly text?: string }[] }[];
    };
    const texts = messages.filter(({ role }) => role === 'assistant').map(({ content }) => content[0]?.text);
    if (texts.length !== 1 || texts[0] !== expected)
      this.faults.push(`its messages are ${JSON.stringify(texts)}, not ${expected}`);
  }

  #note(what: string, { status, body }: Reply): void {
    this.faults.push(`${what} was answered ${String(status)} ${JSON.stringify(body)}`);
  }

  /** Without a key: what makes an answer one is that it is the same. */
  async #post(questionId: string, answer: string, headers: Readonly<Record<string, string>>): Promise<Reply> {
    return this.send('POST', `/v1/questions/${questionId}/answer`, { answer }, headers);
  }

  async #run(runId: string): Promise<Run> {
    return (await this.send('GET', `/v1/runs/${runId}`)).body.data;
  }
}

interface Expected {
  readonly quorum: number;
  readonly answers: readonly Answer[];
  readonly hasDeadline: boolean;
}

/** Headers by which `test/backends/roles.ts` knows a caller. */
const as = (user: string, role = 'manager') => ({ 'x-user': user, 'x-roles': role });
