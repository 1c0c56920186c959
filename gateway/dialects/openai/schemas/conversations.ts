import { Type } from '../../common/builders.ts';
import { Metadata, Objects, PathId } from './common.ts';

/** Items of one request. */
const Items = Objects(20);

export const ConversationParams = Type.Object({ thread_id: PathId });
export const ItemParams = Type.Object({ thread_id: PathId, message_id: PathId });

export const CreateConversation = Type.Object({ items: Type.Optional(Items), metadata: Type.Optional(Metadata) });
export const UpdateConversation = Type.Object({ metadata: Type.Optional(Metadata) });
export const AddItems = Type.Object({ items: Items });
