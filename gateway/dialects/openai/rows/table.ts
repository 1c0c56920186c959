import type { ServiceEndpoint } from '../../common/services.ts';
import { chatRows } from './chat.ts';
import { conversationRows } from './conversations.ts';
import { itemRows } from './conversation-items.ts';
import { modelRows } from './models.ts';
import { refusedRows } from './refused.ts';
import { responseRows } from './responses.ts';

/** Every operation of OpenAI's API that is served. */
export const rows: readonly ServiceEndpoint[] = [
  ...modelRows,
  ...chatRows,
  ...responseRows,
  ...conversationRows,
  ...itemRows,
  ...refusedRows,
];
