import type { ServiceEndpoint } from '../../common/services.ts';
import { assistantRows } from './assistants.ts';
import { commandRow } from './commands.ts';
import { cronRows } from './crons.ts';
import { foundAssistantRows } from './found-assistants.ts';
import { foundThreadRows } from './found-threads.ts';
import { runRows } from './runs.ts';
import { storeRows } from './store.ts';
import { streamRows } from './streams.ts';
import { systemRows } from './system.ts';
import { threadSocketRows } from './thread-socket.ts';
import { threadStreamRows } from './thread-streams.ts';
import { stateRows } from './thread-states.ts';
import { threadRows } from './threads.ts';

/** Every operation of LangGraph Server that is served. */
export const rows: readonly ServiceEndpoint[] = [
  ...systemRows,
  ...foundAssistantRows,
  ...assistantRows,
  ...foundThreadRows,
  ...threadRows,
  ...stateRows,
  ...cronRows,
  ...runRows,
  ...streamRows,
  ...storeRows,
  ...threadStreamRows,
  ...threadSocketRows,
  commandRow,
];
