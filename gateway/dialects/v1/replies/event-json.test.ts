import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { RunEvent } from '@agent-workflow/protos/execution';
import test from 'ava';
import type { ToEventJson } from '../../../http/framing.ts';
import { createToEventJson } from './event-json.ts';

const scope = { runId: 'r', threadId: 't', requestId: 'q', isNewThread: false };

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function encodeOne(toEventJson: ToEventJson): WeakRef<RunEvent> {
  const event: RunEvent = { seq: 1, kind: 'messages_chunk', at: 1, messageId: 'm', data: Buffer.from('"text"') };
  toEventJson(event);
  return new WeakRef(event);
}

test('an event does not stay in memory once its chunk was made', async (t) => {
  const toEventJson = createToEventJson(scope);
  const event = encodeOne(toEventJson);
  await nextTurn();
  collect();
  t.is(event.deref(), undefined);
  t.truthy(toEventJson);
});
