import { partsOfData } from '@agent-workflow/protos/event-parts';
import type { RunEvent } from '@agent-workflow/protos/execution';
import { jsonText } from '../../http/json.ts';

/** The data of an event as its reader gets it. */
export const dataOf = (event: Pick<RunEvent, 'data' | 'repeat'>): unknown =>
  JSON.parse(event.repeat ? Buffer.concat(partsOfData(event)).toString('utf8') : jsonText(event.data));
