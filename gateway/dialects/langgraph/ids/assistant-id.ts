import { createHash } from 'node:crypto';

/** The namespace in which LangGraph Server makes the id of a graph's own assistant. */
const namespace = Buffer.from('6ba7b8219dad11d180b400c04fd430c8', 'hex');

const ids = new Map<string, string>();
/** Names of agents whose ids are remembered. */
const mostIds = 1000;

/** The id of an agent's own assistant: the UUIDv5 of its name. */
export function assistantIdOf(agent: string): string {
  const known = ids.get(agent);
  if (known !== undefined) return known;
  const bytes = createHash('sha1').update(namespace).update(agent).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const text = bytes.toString('hex');
  const id = [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join('-');
  if (ids.size < mostIds) ids.set(agent, id);
  return id;
}

/** Of these agents the one that has this name, or whose own assistant has this id. */
export const agentOfAssistant = (assistantId: string, agents: readonly string[]): string | undefined =>
  agents.find((agent) => agent === assistantId) ??
  agents.find((agent) => assistantIdOf(agent) === assistantId.toLowerCase());
