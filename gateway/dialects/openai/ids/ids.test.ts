import { idFault } from '@agent-workflow/protos/message';
import test from 'ava';
import fc from 'fast-check';
import { isQuestionId } from '../../common/questions.ts';
import { readCallId, shownCallId } from './call-id.ts';
import { itemPlaces, readAnyId, readId, shownId } from './shown-id.ts';

test('an id of any form is shown and read back, and one of another kind is none', (t) => {
  const id = fc.oneof(fc.uuid(), fc.string({ minLength: 1, maxLength: 60 })).filter((text) => !idFault(text));
  fc.assert(
    fc.property(id, (given) => {
      t.is(readId('resp', shownId('resp', given)), given);
      t.is(readAnyId(shownId('conv', given)), given);
      t.is(readId('conv', shownId('resp', given)), undefined);
    }),
  );
  const unnamable = ['a/b', '..', 'a\u0001', 'x'.repeat(257)].map((text) => `conv_=${text}`);
  for (const text of ['', 'resp_', 'resp_=', 'resp_12', 'chatcmpl-1', `resp_${'g'.repeat(32)}`, ...unnamable])
    t.is(readAnyId(text), undefined);
});

test('a call of a run is shown and read back, and one of another service is none', (t) => {
  fc.assert(
    fc.property(fc.uuid(), fc.string({ minLength: 1, maxLength: 80 }), (runId, callId) => {
      t.deepEqual(readCallId(shownCallId({ runId, callId })), { runId, callId });
    }),
  );
  for (const text of ['', 'call_abc', `${'a'.repeat(32)}_`, 'a'.repeat(40)]) t.is(readCallId(text), undefined);
  t.true(isQuestionId('0190a5b2-0000-7000-8000-000000000000/3/gate/0'));
  t.false(isQuestionId('call_abc'));
});

test('the id of a call in a thread is that of its message with a number, and a message may be called so', (t) => {
  const hex = '0190a5b2000070008000000000000000';
  const messageId = '0190a5b2-0000-7000-8000-000000000000';
  t.is(readAnyId(`msg_${hex}.12`), `${messageId}.12`);
  t.deepEqual(itemPlaces(`${messageId}.12`).at(-1), { messageId, shown: `msg_${hex}.12` });
  t.deepEqual(itemPlaces('a.0'), [
    { messageId: 'a.0', shown: 'msg_=a.0' },
    { messageId: 'a', shown: 'msg_=a.0' },
  ]);
  for (const text of [`msg_${hex}.`, `msg_${hex}.x`, `msg_${hex}.123456`, `resp_${hex}.1`])
    t.is(readAnyId(text), undefined);
});
