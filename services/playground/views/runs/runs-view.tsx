import { route } from '../../session/route.ts';
import { RunList } from './run-list.tsx';
import { RunPage } from './run-page.tsx';

/** All runs of the reader, or the one that the address names. */
export function RunsView() {
  const { id } = route.value;
  return id === undefined ? <RunList /> : <RunPage key={id} id={id} />;
}
