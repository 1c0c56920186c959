import type { ServiceEndpoint } from '../../common/services.ts';
import { cardRows } from './cards.ts';
import { messageRows } from './messages.ts';
import { taskRows } from './tasks.ts';

/** Every operation of A2A that is served. */
export const rows: readonly ServiceEndpoint[] = [...cardRows, ...messageRows, ...taskRows];
