import { useSignal } from '@preact/signals';
import { useLoaded } from '../../session/loaded.ts';
import { token } from '../../session/session.ts';
import { CodeBlock } from '../../ui/code-block.tsx';
import { Tabs } from '../../ui/patterns/tabs.tsx';
import { protocolsOf } from './snippets.ts';

/** The names of the protocols that the service speaks. */
async function readNames(signal: AbortSignal): Promise<readonly string[]> {
  const reply = await fetch('/playground/dialects.json', { signal });
  if (!reply.ok) throw new Error(`the protocols could not be read: ${String(reply.status)}`);
  return (await reply.json()) as readonly string[];
}

/** How programs call an agent: by each protocol that the service speaks, with code to copy. */
export function Connect({ agent, isOnly }: { readonly agent: string; readonly isOnly: boolean }) {
  const { state } = useLoaded(readNames, []);
  const chosen = useSignal('v1');
  const hasToken = token.value !== '';
  const protocols = protocolsOf(state.value.value ?? ['v1'], { origin: location.origin, agent, isOnly, hasToken });
  const shown = protocols.find(({ id }) => id === chosen.value) ?? protocols[0];
  if (!shown) return null;
  return (
    <section aria-label="Connect" class="connect">
      <h2>Connect</h2>
      <Tabs
        label="Protocols"
        tabs={protocols.map(({ id, title }) => ({ id, title }))}
        selected={shown.id}
        onSelect={(id) => {
          chosen.value = id;
        }}
      >
        <p>
          {shown.text} <a href={shown.docs}>The guide</a>
          {hasToken && (
            <span class="hint">
              {' '}
              The code reads your token as <code>TOKEN</code> from the environment.
            </span>
          )}
        </p>
        {shown.snippets.map(({ language, code }) => (
          <CodeBlock key={`${shown.id} ${language}`} language={language} code={code} plain={code} />
        ))}
      </Tabs>
    </section>
  );
}
