import { RequestError } from '@agent-workflow/client';
import { knownAgents, readAgents, useAgents } from '../../session/agents.ts';
import { go, route } from '../../session/route.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { chooseAgent, type AgentChoice, type OpenChoice } from './agent-choice.ts';
import type { Chat } from './chat.ts';

/** Which agent the next run of a chat goes to. A component that calls it is drawn again when that changes. */
export const choiceOf = ({ thread: { agent } }: Chat): AgentChoice =>
  chooseAgent({ known: knownAgents.value, ofThread: agent.value, asked: route.value.query['agent'] });

/** The same, once the agents were read, or could not be. */
export async function settledChoiceOf(chat: Chat): Promise<AgentChoice> {
  const { list, error } = knownAgents.peek();
  if (list === undefined && error === undefined) await readAgents();
  return choiceOf(chat);
}

/** The agent that a chat belongs to, where the service has several. */
export function AgentOfChat({ chat }: { readonly chat: Chat }) {
  const { error } = useAgents();
  const choice = choiceOf(chat);
  if (choice.kind === 'fixed') return <span class="chat-agent">Agent {choice.name}</span>;
  if (error === undefined || isRefused(error)) return null;
  return <ErrorNote error={error} again={() => void readAgents()} />;
}

/** Who may not read the agents chats with the one that the service takes. */
const isRefused = (error: unknown): boolean =>
  error instanceof RequestError && (error.status === 401 || error.status === 403);

/** The element of the page that says what the chosen agent does. */
export const sentenceId = 'agent-sentence';

/** Chooses the agent for as long as the thread has none. What is chosen stands in the address, so that it outlives a reload. */
export function AgentPicker({ choice: { agents, name, unknown } }: { readonly choice: OpenChoice }) {
  const choose = (chosen: string): void => {
    go({ ...route.peek(), query: { ...route.peek().query, agent: chosen } }, { replace: true });
  };
  return (
    <label class="agent-picker">
      <span class="unseen">Agent</span>
      <select
        value={name ?? unknown ?? ''}
        aria-describedby={sentenceId}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        {name === undefined && (
          <option value={unknown ?? ''} disabled>
            {unknown === undefined ? 'Choose an agent' : `${unknown} (unknown)`}
          </option>
        )}
        {agents.map((agent) => (
          <option key={agent.name} value={agent.name}>
            {agent.name}
          </option>
        ))}
      </select>
    </label>
  );
}
