import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { eachOf } from '@agent-workflow/kit/each';
import { processEnv } from '@agent-workflow/kit/env';
import { idFrom } from '@agent-workflow/kit/ids';
import { byLoad } from './by-load.ts';

/** A question as its caller was shown it. */
export interface Question {
  readonly threadId: string;
  /** The run that asked. */
  readonly runId: string;
  readonly id: string;
  /** In milliseconds since 1970. */
  readonly deadline: number;
}

/** What its sender is told of an answer: which run it started, or why it is refused. */
export interface Outcome {
  readonly runId?: string;
  readonly refusal?: string;
}

/** A service on which deadlines and answers meet, one replica of which can be killed. */
interface Service {
  /** Asks on a new thread. The question has this deadline, or one that is soon after it, and `default`. */
  readonly pose: (threadId: string, deadline: number) => Promise<Question>;
  /** Sends `answer` until it is known what became of it. */
  readonly answer: (question: Question) => Promise<Outcome>;
  readonly runsOf: (threadId: string) => Promise<readonly { readonly runId: string; readonly status: string }[]>;
  readonly answersOf: (threadId: string) => Promise<unknown>;
  /** Kills one replica, and starts another in its place. */
  readonly killOne: () => Promise<void>;
}

/** `DEADLINES=1000`: so many questions; else as many as do not take long. */
export const questionsGiven = Number(processEnv()['DEADLINES'] ?? 0);

/** Questions whose deadlines are in one second. */
const wave = 100;
const askedAtOnce = 20;

/**
 * Asks questions whose deadlines and answers come in the same second, while replicas are killed. Checks of each that one run went on, and that the sender
 * of the answer, the record and the state say the same.
 */
export async function raceDeadlines(t: ExecutionContext, service: Service, questions: number): Promise<void> {
  t.timeout(byLoad(600_000));
  /** Longer than it took to ask the questions before. */
  let leadMs = byLoad(1000);
  let kills = 0;
  let failed = 0;
  const counted = { answer: 0, default: 0 };
  for (let from = 0; from < questions; from += wave) {
    const begun = Date.now();
    const threadIds = Array.from(
      { length: Math.min(wave, questions - from) },
      (_, index) => `race-${String(from + index)}`,
    );
    const open: Question[] = [];
    await eachOf(threadIds, askedAtOnce, async (threadId) => {
      open.push(await service.pose(threadId, begun + leadMs + Math.floor(Math.random() * 1000)));
    });
    leadMs = 2 * (Date.now() - begun);
    const answering = new AbortController();
    const killing = (async () => {
      while (!answering.signal.aborted) {
        await delay(byLoad(100 + Math.random() * 200));
        await service.killOne();
        kills++;
      }
    })();
    const all = await Promise.all(
      open.map(async (question) => {
        // A deadline counts from its moment to half a second later, when a replica finds it, and later where the machine has much to do.
        await delay(Math.max(0, question.deadline - Date.now() - 200 + Math.random() * byLoad(900)));
        return { question, outcome: await service.answer(question) };
      }),
    );
    answering.abort();
    await killing;
    for (const { question, outcome } of all) {
      if (await checkOne(t, service, question, outcome)) failed++;
      counted[outcome.refusal === undefined ? 'answer' : 'default']++;
    }
  }
  const { answer, default: passed } = counted;
  t.log(
    `${String(answer)} answers and ${String(passed)} deadlines counted, over ${String(kills)} kills; ${String(failed)} of the runs failed`,
  );
  t.true(failed <= questions / 20);
  t.true(Math.min(answer, passed) > 0, 'one side always wins');
}

/** @returns whether the run that went on has failed. */
async function checkOne(t: ExecutionContext, service: Service, question: Question, outcome: Outcome): Promise<boolean> {
  const { threadId, runId: asking, id, deadline } = question;
  const { runId: goesOn = idFrom(id, 'deadline'), refusal } = outcome;
  let runs = await service.runsOf(threadId);
  while (runs.some(({ status }) => status === 'queued' || status === 'running')) {
    await delay(20);
    runs = await service.runsOf(threadId);
  }
  const ends = Object.fromEntries(runs.map(({ runId, status }) => [runId, status]));
  // A run whose workers are killed three times in one step fails.
  const hasFailed = ends[goesOn] === 'failed';
  t.deepEqual(ends, { [asking]: 'interrupted', [goesOn]: hasFailed ? 'failed' : 'completed' });
  t.deepEqual(
    (await service.answersOf(threadId)) ?? [],
    hasFailed ? [] : [refusal === undefined ? 'answer' : 'default'],
  );
  const names = refusal === undefined ? [] : [id, goesOn, new Date(deadline).toISOString()];
  for (const name of names) t.true(refusal?.includes(name), refusal);
  return hasFailed;
}
