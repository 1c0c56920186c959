/** Characters of an agent's name in a request that can matter: no agent has a name as long. */
const agentCharacters = 100;

/** The agent that a `config` names. What is no text is no name either in brackets, and is refused where agents have names. */
export function agentOf({ agent }: { readonly agent?: unknown }): { readonly agent?: string } {
  if (agent === undefined || agent === null) return {};
  return { agent: (typeof agent === 'string' ? agent : JSON.stringify([agent])).slice(0, agentCharacters) };
}
