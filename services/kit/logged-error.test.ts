import test from 'ava';
import { ServiceError, unavailable } from './errors.ts';
import { toLoggedError } from './logged-error.ts';

test('an error is logged with its stack and the chain of its causes', (t) => {
  const error = new TypeError('outer', { cause: new Error('inner', { cause: 'words' }) });
  const logged = toLoggedError(error);
  t.like(logged, { type: 'TypeError', message: 'outer', cause: { message: 'inner', cause: { message: 'words' } } });
  t.regex(logged.stack ?? '', /logged-error\.test\.ts/);
});

test('a server that is unavailable is logged without stacks, each cause in one line', (t) => {
  const refused = Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:9042\n    at connect'), {
    code: 'ECONNREFUSED',
  });
  const all = new AggregateError([refused], 'no host answers');
  t.deepEqual(toLoggedError(unavailable('the record is unavailable', new TypeError('fetch failed', { cause: all }))), {
    type: 'Unavailable',
    message: 'the record is unavailable',
    code: 'Unavailable',
    cause: {
      type: 'TypeError',
      message: 'fetch failed',
      cause: {
        type: 'AggregateError',
        message: 'no host answers',
        errors: [{ type: 'Error', message: 'connect ECONNREFUSED 10.0.0.7:9042', code: 'ECONNREFUSED' }],
      },
    },
  });
});

test('a fault of the code keeps its stack, also as the cause of something that is unavailable', (t) => {
  const fault = toLoggedError(unavailable('away', new TypeError('x is undefined')));
  t.is(fault.stack, undefined);
  t.regex(fault.cause?.stack ?? '', /logged-error\.test\.ts/);
  t.regex(toLoggedError(new ServiceError('Internal', 'ours')).stack ?? '', /logged-error\.test\.ts/);
});

test('an error that stands for several is logged with the first of them, as of a connection to each address of a host', (t) => {
  const each = Array.from({ length: 20 }, (_, index) => new Error(`address ${String(index)} refused`));
  const { errors = [] } = toLoggedError(new AggregateError(each, ''));
  t.like(errors, { 0: { message: 'address 0 refused' }, length: 5 });
});

test('an error whose name or stack is no text is logged with its message', (t) => {
  const odd = Object.assign(new Error('what happened'), { name: null, stack: ['a', 'b'] });
  t.deepEqual(toLoggedError(odd), { type: 'null', message: 'what happened' });
});

test('the logged part of an error of any size is bounded, and has the frames at the end of its stack', (t) => {
  const logged = toLoggedError(new Error('x'.repeat(10_000_000)));
  t.true(JSON.stringify(logged).length < 64 * 1024);
  t.regex(logged.stack ?? '', /logged-error\.test\.ts/);
  const chain = Array.from({ length: 100 }).reduce((cause) => new Error('y'.repeat(100_000), { cause }), undefined);
  t.true(JSON.stringify(toLoggedError(chain)).length < 512 * 1024);
});

test('a value that throws when it is read, or is no error, is logged all the same', (t) => {
  const hostile = new Proxy(new Error('hidden'), {
    get: () => {
      throw new Error('do not look at me');
    },
  });
  t.is(typeof toLoggedError(hostile).message, 'string');
  t.like(toLoggedError({ message: 'of another thread', stack: 'at x' }), {
    message: 'of another thread',
    stack: 'at x',
  });
  for (const thrown of [undefined, null, Symbol('s'), Object.create(null), 5n])
    t.is(typeof toLoggedError(thrown).message, 'string');
});
