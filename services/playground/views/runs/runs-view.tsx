import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { route } from '../../session/route.ts';
import { RawOnFault } from '../../ui/patterns/raw-on-fault.tsx';
import type { LeftList } from './left-list.ts';
import { RunList } from './run-list.tsx';
import { RunPage } from './run-page.tsx';

/** All runs of the reader, or the one that the address names. The way back from a run leads to its row. */
export function RunsView() {
  const { id } = route.value;
  const left = useSignal<LeftList | undefined>(undefined);
  const opened = useRef(id);
  if (id !== undefined) opened.current = id;
  return (
    <RawOnFault key={id}>
      {id === undefined ? (
        <RunList left={left} openedId={opened.current} />
      ) : (
        <RunPage id={id} listQuery={left.value?.query ?? {}} />
      )}
    </RawOnFault>
  );
}
