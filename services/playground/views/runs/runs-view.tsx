import { route } from '../../session/route.ts';
import { RawOnFault } from '../../ui/raw-on-fault.tsx';
import { RunList } from './run-list.tsx';
import { RunPage } from './run-page.tsx';

/** All runs of the reader, or the one that the address names. */
export function RunsView() {
  const { id } = route.value;
  return <RawOnFault key={id}>{id === undefined ? <RunList /> : <RunPage id={id} />}</RawOnFault>;
}
