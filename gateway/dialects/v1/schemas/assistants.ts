import {
  BodyId,
  Cursor,
  count,
  described,
  flag,
  Id,
  Json,
  JsonObject,
  limitOf,
  nullable,
  objectOf,
  text,
  time,
} from './common.ts';
import { Type } from '../../common/builders.ts';

const pathAssistantId = described(Id, 'The assistant');
export const AssistantParams = Type.Object({ assistant_id: pathAssistantId });
export const AssistantVersionParams = Type.Object({
  assistant_id: pathAssistantId,
  version: described(Id, 'The number of the version'),
});

const together = 'Together with the other fields at most 60 KiB';

/** What a version holds, as a request gives it. */
const given = {
  agent: Type.Optional(
    described(
      Json,
      'The name of the agent, where the service has several. Without one: the agent of the thread; for a new thread the default',
    ),
  ),
  name: Type.Optional(Type.String({ maxLength: 256, description: 'The name, for people; at most 256 characters' })),
  description: Type.Optional(
    Type.String({ maxLength: 4096, description: 'What it is for, for people; at most 4,096 characters' }),
  ),
  metadata: Type.Optional(described(JsonObject, `What the caller wants to find it by. ${together}`)),
  config: Type.Optional(
    described(
      JsonObject,
      `What nodes see as \`ctx.config\`, under the \`config\` of the run. What the service itself reads from the config of a run, as \`thread_id\`, cannot stand here. ${together}`,
    ),
  ),
  context: Type.Optional(
    described(JsonObject, `What nodes see as \`ctx.context\`, under the \`context\` of the run. ${together}`),
  ),
};

export const CreateAssistant = objectOf('CreateAssistantRequest', 'An agent with a configuration of its own.', {
  assistant_id: Type.Optional(
    described(BodyId, 'Its id, of at most 240 bytes; one that is taken is 409. Absent: the service makes one'),
  ),
  ...given,
});

const readVersion = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: 999_999_999,
    description: 'The `version` that was read, where the change depends on it: 409 when it is another',
  }),
);

export const UpdateAssistant = objectOf(
  'UpdateAssistantRequest',
  'The fields to replace. All others are as in the version before.',
  { version: readVersion, ...given },
);

export const SetAssistantVersion = objectOf('SetAssistantVersionRequest', 'The version that runs are to have.', {
  version: Type.Integer({ minimum: 1, maximum: 999_999_999, description: 'The number of a version that is kept' }),
});

const contents = {
  agent: described(nullable(Type.String()), 'The name of the agent; `null`: that of the thread, else the default'),
  name: described(nullable(Type.String()), 'The name; `null` without one'),
  description: described(nullable(Type.String()), 'What it is for; `null` without a text'),
  metadata: described(JsonObject, 'What the caller stored with it; `{}` without any'),
  config: described(JsonObject, 'What stands under the `config` of a run'),
  context: described(JsonObject, 'What stands under the `context` of a run'),
};
const assistantId = text('The id of the assistant');

export const Assistant = objectOf('Assistant', 'An agent with a configuration of its own.', {
  assistant_id: assistantId,
  version: count('The version that runs have'),
  newest_version: count('The version that was made last'),
  ...contents,
  created_at: time('When the assistant was made'),
  updated_at: time('When it changed last'),
});

const AssistantVersionItem = objectOf('AssistantVersion', 'One version of an assistant. It never changes.', {
  assistant_id: assistantId,
  version: count('Its number'),
  ...contents,
  created_at: time('When the version was made'),
});
export const AssistantVersion = AssistantVersionItem;

const cursor = Type.Optional(described(Cursor, 'The `cursor` of the page before'));
const paged = {
  has_more: flag('Whether there is more: continue with `cursor`'),
  cursor: Type.Optional(described(Cursor, 'Where the next page begins; absent on the last page')),
};

export const AssistantsQuery = Type.Object({
  agent: Type.Optional(text('Only assistants of this agent')),
  name: Type.Optional(text('Only assistants whose name holds this text, in upper or lower case')),
  metadata: Type.Optional(described(JsonObject, 'Only assistants whose metadata contains this, at any depth')),
  limit: limitOf(100),
  cursor,
});
export const AssistantList = objectOf('AssistantList', 'A page of assistants.', {
  assistants: Type.Array(Assistant, {
    description: 'The assistants by id, descending: of ids made here the newest first',
  }),
  ...paged,
});

export const AssistantVersionsQuery = Type.Object({
  limit: Type.Integer({
    minimum: 1,
    default: 20,
    description: 'The most versions of the reply; above 50 it counts as 50',
  }),
  cursor,
});
export const AssistantVersionList = objectOf('AssistantVersionList', 'A page of the versions of an assistant.', {
  versions: Type.Array(AssistantVersionItem, { description: 'The versions that are kept, the newest first' }),
  ...paged,
});
