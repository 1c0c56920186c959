import { ServiceError } from '@agent-workflow/kit/errors';
import test from 'ava';
import { failureOfCode, isRunFailure, readable, shownOf, textForModel } from './failure.ts';
import { reasonOf } from './reason-of.ts';
import { userError } from './stated-error.ts';
import { lostPlace } from './json-value.ts';

const withCode = (code: string, message = 'connect 10.0.0.7:5432'): Error =>
  Object.assign(new Error(message), { code, syscall: 'connect', errno: -111 });

const revoked = (): unknown => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};

const unreadable = new Proxy(new Error('hidden'), {
  get: () => {
    throw new Error('not now');
  },
});

const circle: Error & { cause?: unknown } = new Error('10.0.0.7');
circle.cause = circle;

for (const [what, thrown, reason] of [
  ['a refused connection', withCode('ECONNREFUSED'), 'unreachable'],
  ['a name that is not known', withCode('ENOTFOUND'), 'unreachable'],
  ['a connection that was cut off', withCode('ECONNRESET'), 'cut_off'],
  ['a connection that took too long', withCode('ETIMEDOUT'), 'timed_out'],
  ['a file that is not there', withCode('ENOENT', "open '/srv/10.0.0.7'"), 'unexpected'],
  ['an error of a driver', Object.assign(new Error('password of 10.0.0.7'), { code: '28P01' }), 'unexpected'],
  ['a fetch that got no reply', new TypeError('fetch failed', { cause: withCode('ECONNREFUSED') }), 'unreachable'],
  ['an error that has one for its cause', new Error('10.0.0.7', { cause: withCode('EPIPE') }), 'cut_off'],
  ['an error that repeats one', new Error('down: connect ECONNREFUSED 10.0.0.7'), 'unreachable'],
  ['several at once', new AggregateError([withCode('ETIMEDOUT')], '10.0.0.7'), 'timed_out'],
  ['a timeout', new DOMException('10.0.0.7', 'TimeoutError'), 'timed_out'],
  ['a text that is no JSON', new SyntaxError('Unexpected token in "10.0.0.7"'), 'unreadable'],
  ['a revoked proxy', revoked(), 'unexpected'],
  ['what throws when it is read', unreadable, 'unexpected'],
] as const)
  test(`${what} is a reason, and neither callers nor models read its words`, (t) => {
    const { text, ...known } = reasonOf(thrown);
    t.is(known.reason, reason);
    t.is(shownOf(failureOfCode('NodeFailed', 'node "n"', thrown, 'n')).reason, reason);
    const model = textForModel(readable(thrown));
    for (const shown of [text, model]) t.notRegex(shown, /10\.0\.0|password|hidden|E[A-Z]{4,}/);
  });

test('an error whose cause is itself has a reason', (t) => {
  t.like(reasonOf(circle), { reason: 'unexpected', isOfSystem: false });
});

test('callers read what an author states, also of another copy of the package, and no cause', (t) => {
  const error = userError('The order is closed.', { cause: withCode('ECONNREFUSED') });
  t.deepEqual([error.message, reasonOf(error).text], ['The order is closed.', 'The order is closed.']);
  const failure = failureOfCode('NodeFailed', 'node "n"', error, 'n');
  t.like(shownOf(failure), { text: 'node "n" failed: The order is closed.', reason: 'user_error' });
  t.is(textForModel(error), 'The order is closed.');
  t.throws(() => userError(undefined as never), { message: /takes the text that the caller is to read/ });
});

test('the words of any other error are for tests and the log, and for the model where a tool throws it', (t) => {
  const failure = failureOfCode('NodeFailed', 'node "n"', new Error('give the city in English'), 'n');
  t.is(failure.message, 'node "n" failed: give the city in English');
  t.is(shownOf(failure).text, 'node "n" failed: an unexpected error, which is in the log of the service');
  t.is(textForModel(new Error('give the city in English')), 'give the city in English');
});

test('an error of a service says to callers what it says', (t) => {
  const error = new ServiceError('NotFound', 'there is no file "7"', { cause: withCode('ENOENT') });
  t.like(reasonOf(error), { reason: 'not_found', text: 'there is no file "7"' });
});

test('a failure of a copy of the package that shows its message is shown by its reason', (t) => {
  const failure = failureOfCode('NodeFailed', 'node "n"', withCode('ECONNREFUSED'), 'n');
  t.is(shownOf(Object.assign(failure, { shown: undefined })).reason, 'unreachable');
});

test('a revoked proxy is no failure of a run, and is read as an error', (t) => {
  t.false(isRunFailure(revoked()));
  t.is((readable(revoked()) as Error).message, 'a value that cannot be shown');
});

test('an error for callers that a tool returns and does not throw is no result', (t) => {
  const error = userError('The order is closed.');
  t.is(lostPlace(error, JSON.stringify(error), 'result'), 'an Error at result, of which JSON keeps nothing');
});
