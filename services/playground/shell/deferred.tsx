import type { ComponentType } from 'preact';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Failure } from '../ui/patterns/failure.tsx';
import { Skeleton } from '../ui/patterns/skeleton.tsx';

type Load = () => Promise<ComponentType>;

/** What has been loaded of the parts of the page, by the function that loads it. */
const loaded = new Map<Load, ComponentType>();

/** A part of the page that is loaded when it is first shown. `load` is the same function each time. */
export function Deferred({ load }: { readonly load: Load }) {
  const turn = useSignal(0);
  const error = useSignal<unknown>(undefined);
  const Part = loaded.get(load);
  useEffect(() => {
    if (loaded.has(load)) return;
    error.value = undefined;
    load().then(
      (part) => {
        loaded.set(load, part);
        turn.value++;
      },
      (thrown: unknown) => {
        error.value = thrown;
      },
    );
  }, [load, turn.value]);
  if (Part) return <Part />;
  if (error.value === undefined) return <Skeleton rows={6} />;
  // A browser keeps the failure of a module: only a new page asks for it again.
  return <Failure error={new Error('This part of the page could not be loaded.')} retry={() => location.reload()} />;
}
