import { setTimeout as delay } from 'node:timers/promises';
import { user } from '../servers/client.ts';
import type { SturdyClient } from './clients.ts';
import type { BegunPhase, RevisedRun } from './revision-check.ts';
import { agent, stepsOf } from './revision-plan.ts';

/** What a person is asked in which step, by what was said. */
const questions = { ask: 'two', 'ask late': 'three' } as const;
type QuestionText = keyof typeof questions;

/** A question that waits for its answer. */
export interface Question {
  readonly threadId: string;
  readonly phase: number;
  readonly revision: string;
  /** The step that asked. */
  readonly step: (typeof questions)[QuestionText];
}

export interface Load {
  readonly runs: readonly RevisedRun[];
  /** Runs that were refused or failed, in sentences. */
  readonly failures: readonly string[];
  /** Starts so many runs in a phase and waits for their ends. */
  readonly run: (index: number, phase: BegunPhase, count: number) => Promise<void>;
  /** Takes the open questions for which that holds, to be answered once. */
  readonly take: (which: (question: Question) => boolean) => readonly Question[];
  /** Answers a question. The revision `by` is to serve it. */
  readonly answer: (question: Question, phase: number, by: string) => Promise<void>;
  /** Runs a new turn on a thread, to its end. */
  readonly turn: (threadId: string, phase: number) => Promise<void>;
}

/** Of a phase's runs so many are on threads that have several runs in it. */
const onBusyThreads = 0.5;
/** Runs of such a thread in one phase: two while the routing becomes known, and three later. */
const runsOfBusy = { early: 2, late: 3 } as const;
/** One run in so many asks a question. */
const questionEvery = 40;
const fewestQuestions = 4;
/** Threads with one run in a phase come back after so many of them. */
const coldThreads = 5000;

interface Planned {
  readonly threadId: string;
  readonly question?: QuestionText;
}

interface Started extends Planned {
  readonly key: string;
  readonly phase: number;
  readonly body: object;
  readonly answered?: { readonly step: string; readonly by: string };
}

export function createLoad(client: SturdyClient, clients: number): Load {
  const runs: RevisedRun[] = [];
  const failures: string[] = [];
  let open: readonly Question[] = [];
  let cold = 0;
  let asked = 0;
  let sent = 0;

  const one = async ({ key, phase, threadId, question, body, answered }: Started): Promise<void> => {
    const begun = Date.now();
    const reply = await client.send('POST', '/v1/graph/invoke', withThread(body, threadId), { 'idempotency-key': key });
    if (reply.status !== 200) {
      failures.push(`run ${key} of ${threadId}: answered ${reply.status} ${JSON.stringify(reply.body)}`);
      return;
    }
    const { meta, all_messages: messages } = reply.body.data as Invoked;
    const record = (await client.send('GET', `/v1/runs/${meta.run_id}`)).body.data as { revision?: string };
    const { revision = 'none' } = record;
    const all = stepsOf(revision);
    const openAt = question !== undefined && all.includes(questions[question]) ? questions[question] : undefined;
    runs.push({
      ...{ threadId, phase, begun, revision, status: meta.status },
      expectedStatus: openAt === undefined ? 'completed' : 'interrupted',
      steps: messages.filter(({ role }) => role === 'assistant').map(({ content }) => content[0]?.text ?? ''),
      expectedSteps:
        (openAt === undefined ? all.length : all.indexOf(openAt)) - (answered ? all.indexOf(answered.step) : 0),
      ...(answered && { answeredBy: answered.by }),
    });
    if (openAt !== undefined) open = [...open, { threadId, phase, revision, step: openAt }];
  };

  /** Of a thread one run is started after the other, so that what follows what is known. */
  const all = async (phase: number, planned: readonly Planned[]): Promise<void> => {
    const busy = new Map<string, Promise<void>>();
    const left = planned.values();
    const work = async (): Promise<void> => {
      for (const each of left) {
        const before = busy.get(each.threadId);
        const body = { messages: [user(each.question ?? 'go')] };
        const key = `run-${sent++}`;
        const running = (async () => {
          await before;
          await one({ ...each, key, phase, body });
        })();
        busy.set(each.threadId, running);
        await running;
      }
    };
    await Promise.all(Array.from({ length: clients }, work));
  };

  return {
    runs,
    failures,

    run: async (index, { knownAt }, count) => {
      const questionCount = Math.max(fewestQuestions, Math.round(count / questionEvery));
      const busyThreads = Math.max(1, Math.round((count * onBusyThreads) / (runsOfBusy.early + runsOfBusy.late)));
      const round = Array.from({ length: busyThreads }, (_, number) => ({ threadId: `hot-${number}` }));
      const rest = Math.max(0, count - questionCount - busyThreads * (runsOfBusy.early + runsOfBusy.late));
      await all(index, Array.from({ length: runsOfBusy.early }, () => round).flat());
      await delay(Math.max(0, knownAt - Date.now()));
      await all(index, [
        ...round,
        ...Array.from({ length: rest }, () => ({ threadId: `cold-${cold++ % coldThreads}` })),
        ...round,
        ...Array.from({ length: questionCount }, (): Planned => {
          const number = asked++;
          return { threadId: `asked-${number}`, question: number % 2 === 0 ? 'ask' : 'ask late' };
        }),
        ...round,
      ]);
    },

    take: (which) => {
      const taken = open.filter(which);
      open = open.filter((question) => !which(question));
      return taken;
    },

    answer: async ({ threadId, step }, phase, by) =>
      one({ key: `answer-${threadId}`, threadId, phase, body: answerTo, answered: { step, by } }),

    turn: async (threadId, phase) =>
      one({ key: `turn-${threadId}`, threadId, phase, body: { messages: [user('go')] } }),
  };
}

/** Answers the one question that is open. */
export const answerTo = { messages: [], resume: 'yes' };

interface Invoked {
  readonly meta: { readonly run_id: string; readonly status: string };
  readonly all_messages: readonly { readonly role: string; readonly content: readonly { readonly text?: string }[] }[];
}

/** The body of a request that names the agent and the thread. */
export const withThread = (body: object, threadId: string): object => ({
  ...body,
  config: { thread_id: threadId, agent },
});
