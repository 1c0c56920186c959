import { defaultAgent } from '@agent-workflow/kit/agents';
import type { ListOwnRunsRequest, RunFilter } from '@agent-workflow/protos/threads';
import type { OwnRunRow } from '../ports/lists.ts';
import { titleOf } from '../record/title.ts';
import { finding } from './contains.ts';
import { durationOf, nodesOf } from '../record/run-place.ts';

type Test = (run: OwnRunRow) => boolean;

/** Which runs of an owner are asked for. */
export type RunSelection = Pick<ListOwnRunsRequest, 'statuses' | 'agent' | 'filter'>;

/** A test whether a run passes every filter that is given. `now` is the time up to which runs that go on have taken, in milliseconds since 1970. */
export function runTest({ filter = {}, ...rest }: RunSelection, now: number): Test {
  const tests = [...selectionTests(rest), ...rowTests(filter), ...durationTests(filter, now), ...textTests(filter)];
  return (run) => tests.every((test) => test(run));
}

function selectionTests({ statuses, agent }: Omit<RunSelection, 'filter'>): readonly Test[] {
  const tests: Test[] = [];
  if (statuses.length > 0) tests.push(({ status }) => statuses.includes(status));
  if (agent !== undefined) tests.push(({ head }) => agent === (head.agent ?? defaultAgent));
  return tests;
}

function rowTests({ revision, from, to }: RunFilter): readonly Test[] {
  const tests: Test[] = [];
  if (from !== undefined) tests.push(({ createdAt }) => createdAt >= from);
  if (to !== undefined) tests.push(({ createdAt }) => createdAt < to);
  if (revision !== undefined) tests.push((run) => revision === revisionOf(run));
  return tests;
}

/** The revision that serves a run. The head of its thread knows it before the record of the run does. */
export const revisionOf = ({ runId, revision, head }: OwnRunRow): string | undefined =>
  head.activeRun === runId ? head.revision : revision;

function durationTests({ minDurationMs, maxDurationMs }: RunFilter, now: number): readonly Test[] {
  const tests: Test[] = [];
  if (minDurationMs !== undefined) tests.push((run) => durationOf(run, now) >= minDurationMs);
  if (maxDurationMs !== undefined) tests.push((run) => durationOf(run, now) <= maxDurationMs);
  return tests;
}

function textTests({ node, error, search }: RunFilter): readonly Test[] {
  const tests: Test[] = [];
  if (node !== undefined) tests.push((run) => placesOf(run).some((place) => isAt(place, node)));
  if (error) {
    const isFound = finding(error);
    tests.push(({ end }) => end?.error !== undefined && isFound(end.error.message));
  }
  if (search) {
    const isFound = finding(search);
    tests.push((run) => wordsOf(run).some(isFound));
  }
  return tests;
}

/** The node that failed, or those at which the run stands. */
const placesOf = (run: OwnRunRow): readonly string[] => {
  const failed = run.end?.error?.node;
  return failed === undefined ? nodesOf(run, run.head) : [failed];
};

/** A node of a sub-graph is named `outer/inner`, and is found by the name of the outer one, too. */
const isAt = (place: string, node: string): boolean => place === node || place.startsWith(`${node}/`);

const wordsOf = ({ runId, threadId, end, head }: OwnRunRow): readonly string[] =>
  [runId, threadId, titleOf(head), end?.error?.message].filter((text) => text !== undefined);
