import type { Thread } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { jsonText } from '../../../http/json.ts';
import { toEntries } from '../../common/incoming-messages.ts';
import type { Services } from '../../common/services.ts';
import { shownId } from '../ids/shown-id.ts';
import { toGiven } from '../messages/conversation.ts';
import { fromItems } from '../messages/from-items.ts';

const toConversation = ({ threadId, createdAt, metadataJson }: Thread): string =>
  JSON.stringify({
    ...{ id: shownId('conv', threadId), object: 'conversation', created_at: Math.floor(createdAt / 1000) },
    metadata: metadataJson ? (JSON.parse(jsonText(metadataJson)) as unknown) : {},
  });

type Reading = Pick<EndpointRequest, 'owner' | 'call'>;

/** A conversation as callers see it. @throws NotFound */
export const conversationText = async (
  { owner, call }: Reading,
  threadId: string,
  { threads }: Pick<Services, 'threads'>,
) => toConversation(await threads.getThread({ owner, threadId }, call()));

/** Items of a request as messages that are added to a thread. */
export const entriesOf = ({ newId, at }: Pick<EndpointRequest, 'newId' | 'at'>, items: readonly unknown[]) =>
  toEntries(toGiven(fromItems(items, 'items'), false).messages, newId, at);
