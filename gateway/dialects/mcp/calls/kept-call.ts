import type { Call } from '@agent-workflow/protos/call';
import type { Run, RunReadCalls } from '@agent-workflow/protos/threads';
import { jsonText } from '../../../http/json.ts';
import { askable, type Client } from '../wire/client.ts';
import { fieldsOf, isObject, textIn, type Fields } from '../wire/fields.ts';
import { digestOf, type Asked, type AskedMethod } from './asked.ts';

/** What the record keeps of a call with each run that is made for it, so that any replica goes on with it. */
export interface KeptCall {
  /** Its arguments are left out where they are too large: then its questions cannot be answered. */
  readonly asked: Asked;
  readonly isWhole: boolean;
  /** Of all of it. */
  readonly digest: string;
  readonly can: Client['can'];
}

/** The largest arguments that are kept, in characters: as many bytes at least, and three times as many at most. */
const mostCharacters = 16 * 1024;

export function keptOf(asked: Asked, { can }: Pick<Client, 'can'>): KeptCall {
  const isWhole = asked.isAgent || JSON.stringify(asked.arguments).length <= mostCharacters;
  const kept = isWhole && !asked.isAgent ? asked : { ...asked, arguments: {} };
  return { asked: kept, isWhole, digest: digestOf(asked), can };
}

export const toKept = ({ can, ...call }: KeptCall): { readonly mcp: Fields } => ({ mcp: { ...call, can: [...can] } });

/** The call that a run is for. One that was started otherwise is a call of its agent. */
export async function keptCall(
  { owner, runId, agent }: Pick<Run, 'owner' | 'runId' | 'agent'>,
  threads: Pick<RunReadCalls, 'listRunRequests'>,
  call: Call,
): Promise<KeptCall> {
  const { requests } = await threads.listRunRequests({ owner, runIds: [runId] }, call);
  const json = requests[0]?.requestJson;
  const { mcp } = fieldsOf(json === undefined ? undefined : JSON.parse(jsonText(json)));
  if (!isObject(mcp))
    return keptOf({ method: 'tools/call', agent, name: agent, isAgent: true, arguments: {} }, { can: new Set() });
  const { asked, isWhole, digest, can } = mcp;
  const { method, name, isAgent, arguments: given, mimeType, isStructured } = fieldsOf(asked);
  return {
    asked: {
      method: method as AskedMethod,
      agent,
      name: textIn(name) ?? agent,
      isAgent: isAgent === true,
      arguments: fieldsOf(given),
      mimeType: textIn(mimeType),
      ...(isStructured === true && { isStructured }),
    },
    isWhole: isWhole === true,
    digest: textIn(digest) ?? '',
    can: new Set(askable.filter((each) => Array.isArray(can) && can.includes(each))),
  };
}
