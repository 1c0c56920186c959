import type { ServiceEndpoint } from '../../common/services.ts';
import { assistantRows } from './assistants.ts';
import { foundAssistantRows } from './found-assistants.ts';
import { systemRows } from './system.ts';

/** Every operation of LangGraph Server that is served. */
export const rows: readonly ServiceEndpoint[] = [...systemRows, ...foundAssistantRows, ...assistantRows];
