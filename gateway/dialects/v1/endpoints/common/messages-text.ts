import { jsonWithoutProviderData } from '@agent-workflow/protos/provider-data';
import { jsonText } from '../../../../http/json.ts';

/** A stored message, or a list of them, as JSON text of a reply: what providers of models sent for themselves is not shown. */
export const messagesText = (json: Uint8Array): string => jsonWithoutProviderData(jsonText(json));
