import test from 'ava';
import { failureWords } from './failure-words.ts';

test('a failure names the step, and says what its reason means', (t) => {
  const error = {
    code: 'NODE_ERROR',
    message: 'node "talk" failed: the provider is busy',
    node: 'talk',
    reason: 'rate_limited',
  } as const;
  const words = failureWords(error);
  t.is(words.what, 'The step “talk” failed');
  t.is(words.message, 'The provider is busy');
  t.regex(words.meaning, /Later it may do/);
});

test('a run that failed outside of its steps says so, and what the author says needs no meaning', (t) => {
  t.is(failureWords({ code: 'GRAPH_ERROR', message: 'no' }).what, 'The run failed');
  t.is(failureWords({ code: 'NODE_ERROR', message: 'no', reason: 'user_error' }).meaning, '');
});
