import { triggerFormats } from '../../../triggers/index.ts';
import { Cursor, described, flag, Id, JsonObject, limitOf, nullable, objectOf, text, time, words } from './common.ts';
import { RunConfig } from './graph.ts';
import { Type } from '../../common/builders.ts';

export const TriggerParams = Type.Object({ trigger_id: described(Id, 'The trigger') });

const format = words(triggerFormats, {
  description: 'How events are signed',
  meanings: {
    standard: 'as Standard Webhooks say: `webhook-id`, `webhook-timestamp`, `webhook-signature` (or `svix-…`)',
    github: 'as GitHub does: `X-Hub-Signature-256`',
    slack: 'as Slack does: `X-Slack-Signature` and `X-Slack-Request-Timestamp`',
  },
});

const given = {
  name: Type.Optional(Type.String({ maxLength: 256, description: 'The name, for people; at most 256 characters' })),
  enabled: Type.Optional(flag('Whether events start runs. Default: `true`')),
  events: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 128, description: 'A type of events' }), {
      maxItems: 100,
      description:
        'The types of events that start a run; others are answered and start none. Empty, as absent: all. The type is `X-GitHub-Event` for `github`, else `type` of the body',
    }),
  ),
  message: Type.Optional(
    Type.String({
      maxLength: 16_384,
      description: 'The text of the message that the run begins with. Empty, as absent: the body of the event',
    }),
  ),
  config: Type.Optional(described(RunConfig, 'The `config` of its runs: agent or assistant, thread, strategy')),
  context: Type.Optional(described(JsonObject, 'The `context` of its runs. `event` is added to it')),
};

const givenSecret = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 256,
    description:
      'The secret of the sender, where that makes it, as Slack does: 16 to 256 visible ASCII characters; for `standard` `whsec_` and 24 to 64 bytes in base64. Absent: the service makes one',
  }),
);

export const CreateTrigger = objectOf('CreateTriggerRequest', 'What events are to start.', {
  format,
  secret: givenSecret,
  ...given,
});

export const UpdateTrigger = objectOf('UpdateTriggerRequest', 'The fields to replace.', given);

export const RotateTriggerSecret = objectOf('RotateTriggerSecretRequest', 'A new secret.', {
  secret: givenSecret,
  overlap_seconds: Type.Integer({
    minimum: 0,
    maximum: 604_800,
    default: 86_400,
    description: 'For how long the secret before it counts beside it: at most 7 days',
  }),
});

const fields = {
  trigger_id: text('The id of the trigger'),
  name: described(nullable(Type.String()), 'The name; `null` without one'),
  format,
  enabled: flag('Whether events start runs'),
  events: Type.Array(text('A type of events'), { description: 'The types of events that start a run; empty: all' }),
  message: described(nullable(Type.String()), 'The text of the message; `null`: the body of the event'),
  config: described(JsonObject, 'The `config` of its runs'),
  context: described(JsonObject, 'The `context` of its runs'),
  path: text('Where the sender sends events, below the address of the service'),
  created_at: time('When the trigger was made'),
  updated_at: time('When it changed last'),
};

export const Trigger = objectOf('Trigger', 'An address whose signed events start runs of its owner.', fields);
export const TriggerWithSecret = objectOf('TriggerWithSecret', 'A trigger with its secret, which is shown this once.', {
  ...fields,
  secret: text('The secret by which events are signed'),
});
export const TriggersQuery = Type.Object({
  limit: limitOf(100),
  cursor: Type.Optional(described(Cursor, 'The `cursor` of the page before')),
});
export const TriggerList = objectOf('TriggerList', 'A page of triggers.', {
  triggers: Type.Array(Trigger, { description: 'The triggers, newest first' }),
  has_more: flag('Whether there is more: continue with `cursor`'),
  cursor: Type.Optional(described(Cursor, 'Where the next page begins; absent on the last page')),
});

export const TriggerEvent = objectOf('TriggerEvent', 'What became of an event.', {
  run_id: Type.Optional(text('The run; absent when the event starts none')),
  thread_id: Type.Optional(text('The thread of the run')),
  duplicate: Type.Optional(flag('`true` for an event that came within the 24 hours before: this is what became of it')),
  ignored: Type.Optional(flag('`true` for an event of a type that starts no run')),
  challenge: Type.Optional(text('Of the request by which Slack checks the address: its `challenge`')),
});
