import { toHash } from '../session/route.ts';
import { Icon } from './icon.tsx';

/** More characters of a text are not searched for. */
const maxSearched = 500;

interface MemoryLinkProps {
  /** What an agent has said. */
  readonly text: string;
  /** Whether its name is its title alone, beside other signs. */
  readonly isSign?: boolean;
}

/** Leads to the memories that a text may come from: those nearest to its words. Nothing where there are none. */
export function MemoryLink({ text, isSign = false }: MemoryLinkProps) {
  const search = text.slice(0, maxSearched).toWellFormed().trim();
  if (search === '') return null;
  const name = 'Find it in the memory';
  return (
    <a
      class={isSign ? 'button button-quiet button-sign tiny' : 'button button-quiet'}
      href={toHash({ view: 'memory', query: { search } })}
      {...(isSign && { 'aria-label': name, title: name })}
    >
      <Icon name="memory" />
      {!isSign && name}
    </a>
  );
}
