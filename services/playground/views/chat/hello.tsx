import { useAgents } from '../../session/agents.ts';
import { useLoaded } from '../../session/loaded.ts';
import { client } from '../../session/session.ts';
import { Plain } from '../../ui/plain.tsx';
import { sentenceId } from './agent-picker.tsx';
import type { AgentChoice } from './agent-choice.ts';
import { sentenceOf, startersOf, type Starter } from './starters.ts';

interface HelloProps {
  readonly choice: AgentChoice;
  /** Puts a text into the box. */
  readonly onStart: (text: string) => void;
}

/** The place where a chat begins: what the agent is, and what may be asked of it. */
export function Hello({ choice, onStart }: HelloProps) {
  const { list = [] } = useAgents();
  const agent = list.find(({ name }) => name === choice.name) ?? (list.length === 1 ? list[0] : undefined);
  if (!agent) return <div class="hello" />;
  // An agent without a name is called by none.
  const isNamed = list.length > 1;
  return (
    <div class="hello">
      <h2 dir="auto">{isNamed ? `What should ${agent.name} do?` : 'What should the agent do?'}</h2>
      <div class="hello-sentence" id={sentenceId}>
        <Plain text={sentenceOf(agent)} />
      </div>
      <Starters key={agent.name} name={agent.name} onStart={onStart} />
    </div>
  );
}

interface StartersProps {
  readonly name: string;
  readonly onStart: (text: string) => void;
}

/** What may be asked, once the tools of the agent were read. */
function Starters({ name, onStart }: StartersProps) {
  const { state } = useLoaded((signal) => client.agents.get(name, { signal }), [name]);
  const { value: agent } = state.value;
  const starters = agent ? startersOf(agent) : [];
  if (starters.length === 0) return null;
  return (
    <ul class="starters" aria-label="Begin with">
      {starters.map((starter) => (
        <li key={starter.title}>
          <StarterButton {...{ starter, onStart }} />
        </li>
      ))}
    </ul>
  );
}

interface StarterButtonProps {
  readonly starter: Starter;
  readonly onStart: (text: string) => void;
}

const StarterButton = ({ starter: { title, about, text }, onStart }: StarterButtonProps) => (
  <button type="button" onClick={() => onStart(text)}>
    <b dir="auto">{title}</b>
    {about !== undefined && <span dir="auto">{about}</span>}
  </button>
);
