import type { Run } from '@agent-workflow/client';
import test from 'ava';
import { isAnswered, titleOfRun, tokensOf, tookMs, whyOf } from './run-words.ts';

const run = (parts: Partial<Run>): Run => ({ run_id: 'r1', thread_id: 't1', status: 'completed', ...parts });

test('a run says why it stands where it stands, and nothing where all is well', (t) => {
  const error = { code: 'NODE_ERROR', message: 'the price\nfeed', node: 'fetch' };
  t.is(whyOf(run({ status: 'failed', error })), 'fetch: the price feed');
  const named = { ...error, message: 'node "fetch" failed: the price feed' };
  t.is(whyOf(run({ status: 'failed', error: named })), 'fetch: the price feed');
  t.is(whyOf(run({ status: 'failed', error: { code: 'TIMEOUT', message: 'late' } })), 'late');
  t.is(whyOf(run({ status: 'interrupted', question: 'Refund it?', nodes: ['ask'] })), 'asks: Refund it?');
  t.is(whyOf(run({ status: 'interrupted', nodes: ['ask', 'tools'] })), 'waits at ask, tools');
  t.is(whyOf(run({ status: 'running', nodes: ['fetch'] })), 'at fetch');
  t.is(whyOf(run({ status: 'completed' })), undefined);
});

test('a run that has asked waits while its thread stands at it', (t) => {
  t.false(isAnswered(run({ status: 'interrupted', question: 'Refund it?', nodes: ['ask'] })));
  t.false(isAnswered(run({ status: 'interrupted', nodes: ['ask'] })));
  t.true(isAnswered(run({ status: 'interrupted', nodes: [] })));
  t.is(whyOf(run({ status: 'interrupted' })), 'waits no longer');
  t.false(isAnswered(run({ status: 'completed' })));
});

test('a long error is cut', (t) => {
  const error = { code: 'NODE_ERROR', message: 'x'.repeat(1e6) };
  t.true((whyOf(run({ status: 'failed', error })) ?? '').length <= 200);
});

test('a run took the time from its start to its end, or to now', (t) => {
  const times = { created_at: '1970-01-01T00:00:01Z', started_at: '1970-01-01T00:00:02Z' };
  t.is(tookMs(run({ ...times, ended_at: '1970-01-01T00:00:05Z' }), 9000), 3000);
  t.is(tookMs(run({ ...times, status: 'running' }), 9000), 7000);
  t.is(tookMs(run({ created_at: '1970-01-01T00:00:01Z', status: 'queued' }), 9000), 8000);
  t.is(tookMs(run({}), 9000), undefined);
});

test('a run is called by its thread, and its tokens are those of both directions', (t) => {
  t.is(titleOfRun(run({ thread_title: 'Refund' })), 'Refund');
  t.is(titleOfRun(run({ thread_title: null })), 'Untitled');
  t.is(tokensOf(run({ usage: { models: {}, input_tokens: 3, output_tokens: 4 } })), 7);
  t.is(tokensOf(run({})), undefined);
});
