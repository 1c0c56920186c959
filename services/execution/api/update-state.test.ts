import { invalid, notFound, type ErrorDetail } from '@agent-workflow/kit/errors';
import test from 'ava';
import { messageField, withFields } from './update-state.ts';

const at = ['initialState', 'context'];

const fieldOf = async (field: ErrorDetail['field'], count: number, hasOthers: boolean): Promise<string> =>
  withFields(Promise.reject(invalid(field, 'no')), messageField(at, count, hasOthers)).catch(
    (error: unknown) => (error as Error).message,
  );

test('a message of a state is named where the caller sent it, and those of the request by their own places', async (t) => {
  t.is(await fieldOf(['messages', 1, 'content'], 2, true), 'initialState.context.1.content: no');
  t.is(await fieldOf(['messages', 2, 'content'], 2, true), 'messages.0.content: no');
  t.is(await fieldOf(['messages', 0], 0, true), 'messages.0: no');
  t.is(await fieldOf(['messages'], 2, true), 'messages: no');
  t.is(await fieldOf(['messages'], 2, false), 'initialState.context: no');
  t.is(await fieldOf(['metadata'], 2, false), 'metadata: no');
});

test('another error, and what the record gives, stay as they are', async (t) => {
  const error = notFound('no');
  t.is(await t.throwsAsync(withFields(Promise.reject(error), messageField(at, 1, false))), error);
  t.is(await withFields(Promise.resolve('made'), messageField(at, 1, false)), 'made');
});
