import { shareRights } from '../../../access/rules.ts';
import {
  Cursor,
  described,
  flag,
  givenTime,
  Id,
  limitOf,
  nullable,
  objectOf,
  pathThreadId,
  text,
  threadId,
  time,
  words,
} from './common.ts';
import { StreamModes } from './events.ts';
import { RunInput } from './graph.ts';
import { Type } from '../../common/builders.ts';

/** It holds the id of a user, in Base64. */
const shareId = { ...described(Id, 'The share'), title: 'ShareId', maxLength: 1024 };

export const ShareParams = Type.Object({ thread_id: pathThreadId, share_id: shareId });

/** Of what is read by a share. */
export const SharedParams = Type.Object({ share_id: shareId });
export const SharedMessageParams = Type.Object({ share_id: shareId, message_id: described(Id, 'The message') });
export const SharedCheckpointParams = Type.Object({
  share_id: shareId,
  checkpoint_id: described(Id, 'The checkpoint'),
});
export const SharedFileParams = Type.Object({ share_id: shareId, file_id: described(Id, 'The file') });
export const SharedRunParams = Type.Object({ share_id: shareId, run_id: described(Id, 'The run') });

const right = words(shareRights, {
  description: 'What recipients may do',
  meanings: {
    read: 'read state, messages, checkpoints and runs, and follow runs',
    write: 'start runs with messages of their own, and stop runs',
    answer: 'answer the questions that are to the owner',
  },
});

const To = objectOf('Recipient', 'Whom a thread is shared with: one of the three.', {
  user: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'The id of a user' })),
  role: Type.Optional(
    Type.String({ minLength: 1, maxLength: 256, description: 'A role of `service.json`: all who have it' }),
  ),
  everybody: Type.Optional(Type.Literal(true, { description: 'Everybody who is signed in' })),
});

export const CreateShare = objectOf('CreateShareRequest', 'Whom a thread is shared with, and what for.', {
  to: described(To, 'Whom the thread is shared with'),
  rights: Type.Array(right, {
    minItems: 1,
    maxItems: shareRights.length,
    uniqueItems: true,
    default: ['read'],
    description: 'What the recipients may do; `read` is always among it. Default: `["read"]`',
  }),
  until: Type.Optional(nullable(givenTime('When the share ends', 'never'))),
});

export const Share = objectOf('Share', 'A thread that its owner has shared.', {
  share_id: text('The id of the share; `/v1/shared/{share_id}` is the thread'),
  thread_id: threadId,
  user_id: text('The owner of the thread'),
  to: described(To, 'Whom the thread is shared with'),
  rights: Type.Array(right, { description: 'What the recipients may do' }),
  until: described(nullable(time('When the share ends')), 'When the share ends; `null`: never'),
  created_at: time('When the share was made'),
});

export const SharesQuery = Type.Object({
  limit: limitOf(100),
  cursor: Type.Optional(described(Cursor, 'The `cursor` of the page before')),
});

export const SharedQuery = Type.Object({
  ...SharesQuery.properties,
  role: Type.Optional(
    Type.String({ minLength: 1, maxLength: 256, description: 'A role of the caller: what is shared with it' }),
  ),
  everybody: Type.Optional(
    words(['true', 'false'], {
      description: 'Whether to list what is shared with everybody',
      meanings: { true: 'with everybody who is signed in', false: 'as without it' },
    }),
  ),
});

export const ShareList = objectOf('ShareList', 'A page of shares.', {
  shares: Type.Array(Share, { description: 'The shares, newest first' }),
  has_more: flag('Whether there is more: continue with `cursor`'),
  cursor: Type.Optional(described(Cursor, 'Where the next page begins; absent on the last page')),
});

export const SharedThreadList = objectOf('SharedThreadList', 'A page of threads that are shared with the caller.', {
  ...ShareList.properties,
  shares: Type.Array(
    objectOf('SharedThread', 'A thread that another owner shares with the caller.', {
      ...Share.properties,
      thread_title: described(
        nullable(text('What the thread is called')),
        'What the thread is called; `null`: nothing',
      ),
      status: text('What happens on the thread, as in the list of threads'),
      updated_at: time('When the thread was last changed'),
    }),
    { description: 'The shares, newest first' },
  ),
});

const { messages, resume, recursion_limit: recursionLimit, response_granularity: granularity } = RunInput.properties;

/** The body of a run in a shared thread. */
export const SharedRunInput = {
  ...objectOf(
    'SharedRunRequest',
    'What the agent of a shared thread is to do. The other fields of a run are refused: they are its owner’s.',
    {
      ...{ messages, resume, recursion_limit: recursionLimit, response_granularity: granularity },
      config: Type.Optional(
        described(
          objectOf('SharedRunConfig', 'How the run goes. Any other field is refused.', {
            multitask_strategy: Type.Optional(
              words(['enqueue', 'reject'], {
                default: 'enqueue',
                description: 'What happens when the thread has a run that has not ended',
                meanings: { enqueue: 'the new run waits for it', reject: 'the request is 409' },
              }),
            ),
            on_disconnect: Type.Optional(RunInput.properties.config.properties.on_disconnect),
          }),
          'How the run goes',
        ),
      ),
    },
  ),
  allOf: RunInput.allOf,
};

/** The body of a run in a shared thread that is followed. */
export const SharedStreamInput = {
  ...objectOf('SharedStreamRequest', 'What the agent of a shared thread is to do, and what is streamed of it.', {
    ...SharedRunInput.properties,
    stream_modes: Type.Optional(StreamModes),
  }),
  allOf: RunInput.allOf,
};
