import test from 'ava';
import { outcomesOf, readOutcomes, type Outcome } from './record.ts';
import { countOutcomes, failedFiles, filesToRepeat, mostFlaky, skippedByReason } from './verdict.ts';

const failed = (file: string, title = 'a title', isProof = false): Outcome => ({
  ...{ what: 'failed', file, title, reason: `of ${title}`, isProof },
});
const passed = (file: string, title = 'a title'): Outcome => ({ what: 'passed', file, title });
const names = (files: readonly { readonly file: string }[]): string[] => files.map(({ file }) => file);

test('a file that failed is named once, with its first failure', (t) => {
  t.deepEqual(failedFiles([passed('a'), failed('a', 'one'), failed('a', 'two'), failed('b', 'three')]), [
    { file: 'a', title: 'one', reason: 'of one' },
    { file: 'b', title: 'three', reason: 'of three' },
  ]);
});

test('as many files as may be flaky run once more, one more runs none of them', (t) => {
  const files = Array.from({ length: mostFlaky + 1 }, (_, index) => failed(String(index)));
  t.deepEqual(names(filesToRepeat(files.slice(1), 0)), ['1', '2', '3']);
  t.deepEqual(filesToRepeat(files, 0), []);
  t.deepEqual(filesToRepeat(files.slice(1), 1), [], 'with one of an earlier command');
});

test('nothing runs once more beside a failure that is a proof, or one outside of every file', (t) => {
  t.deepEqual(filesToRepeat([failed('a'), failed('b', 'lost', true)], 0), []);
  t.deepEqual(filesToRepeat([failed('a'), failed('')], 0), []);
});

test('what a file did when it failed does not count once it passed alone', (t) => {
  const outcomes = [passed('a'), failed('a'), passed('b'), failed('c')];
  t.deepEqual(countOutcomes(outcomes, new Map([['a', [passed('a'), passed('a', 'other')]]])), {
    ...{ passed: 3, failed: 1, skipped: 0 },
  });
});

test('skipped tests are counted by their reason, which is a title or stands in brackets behind one', (t) => {
  const titles = ['NATS is absent', 'a page (npm run x)', 'another page (npm run x)'];
  t.deepEqual(skippedByReason(titles.map((title) => ({ what: 'skipped', file: 'a', title }))), [
    '2: npm run x',
    '1: NATS is absent',
  ]);
});

test('an event of ava is an outcome with its file and a reason in one line', (t) => {
  const testFile = `${process.cwd()}/test/a.test.ts`;
  const of = { file: 'test/a.test.ts', title: 'a title' };
  const reasonOf = (event: object): unknown => outcomesOf({ type: 'test-failed', testFile, title: of.title, ...event });
  t.deepEqual(reasonOf({ err: { message: 'not\n equal' } }), [
    { what: 'failed', ...of, reason: 'not equal', isProof: false },
  ]);
  t.deepEqual(reasonOf({ err: { message: '', formattedDetails: [{ label: 'Not:', formatted: '1' }] } }), [
    { what: 'failed', ...of, reason: 'Not: 1', isProof: false },
  ]);
  t.deepEqual(reasonOf({ type: 'worker-failed', title: undefined, signal: 'SIGKILL' }), [
    { what: 'failed', file: of.file, title: 'worker-failed', reason: 'ended by SIGKILL', isProof: false },
  ]);
  t.deepEqual(reasonOf({ type: 'timeout', period: 3, pendingTests: new Map([[testFile, new Set(['b'])]]) }), [
    { what: 'failed', file: of.file, title: 'b', reason: 'nothing ended within 3 ms', isProof: false },
  ]);
  t.deepEqual(outcomesOf({ type: 'selected-test', testFile, title: of.title, skip: true }), [
    { what: 'skipped', ...of },
  ]);
  t.deepEqual(outcomesOf({ type: 'selected-test', testFile, title: of.title, skip: false }), []);
});

test('what lost, doubled or mixed data is a proof by how its message begins, and so is a counterexample', (t) => {
  const isProof = (err: object): unknown => outcomesOf({ type: 'test-failed', title: 'a', err })[0]?.isProof;
  for (const message of ['lost: a run', 'doubled: a message', 'mixed: owners', 'Property failed after 3 tests'])
    t.true(isProof({ message }), message);
  t.true(isProof({ message: 'Error thrown', originalError: new Error('x', { cause: new Error('lost: a run') }) }));
  t.true(isProof({ message: 'not 5', stack: '› run (file:///a/node_modules/fast-check/lib/fast-check.js:1:1)' }));
  t.false(isProof({ message: 'a run was lost: late' }));
  t.false(isProof({ message: 'the condition did not hold within 30000 ms' }));
});

test('the outcomes of a run that was broken off are read as far as they go', (t) => {
  t.deepEqual(readOutcomes(`${JSON.stringify(passed('a'))}\n`), [passed('a')]);
  t.deepEqual(readOutcomes(''), []);
});
