import type { ServiceEndpoint } from '../../common/services.ts';
import { cardRows } from './cards.ts';
import { messageRows } from './messages.ts';
import { pushRows } from './pushes.ts';
import { taskListRows } from './task-list.ts';
import { taskRows } from './tasks.ts';

/** Every operation of A2A that is served. */
export const rows: readonly ServiceEndpoint[] = [
  ...cardRows,
  ...messageRows,
  ...taskListRows,
  ...taskRows,
  ...pushRows,
];
