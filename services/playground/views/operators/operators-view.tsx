import { route } from '../../session/route.ts';
import { isOperator, me } from '../../session/me.ts';
import { Blank } from '../../ui/patterns/blank.tsx';
import { RawOnFault } from '../../ui/patterns/raw-on-fault.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { AllRuns } from './all-runs.tsx';
import { AllThreads } from './all-threads.tsx';
import { fromPlaceId } from './of-owner.ts';
import { RunOfOwner } from './run-of-owner.tsx';
import { ThreadOfOwner } from './thread-of-owner.tsx';

/** The runs and threads of everybody, for those whose role lets them see these. Contents are masked until they are read for a reason. */
export function OperatorsView() {
  const { id, query } = route.value;
  if (me.value === undefined) return <Skeleton rows={8} />;
  if (!isOperator())
    return (
      <>
        <h1 class="unseen">Operators</h1>
        <Blank
          title="This is for operators"
          text="A role of service.json lets its holders see the runs and threads of everybody."
        />
      </>
    );
  return <RawOnFault key={`${id ?? ''} ${query['thread'] ?? ''}`}>{shownAt(id, query)}</RawOnFault>;
}

/** What an address of the view shows: a run, a thread, or one of the lists. */
function shownAt(id: string | undefined, { thread, user = '', list }: Readonly<Record<string, string>>) {
  if (id !== undefined) return <RunOfOwner key={id} {...fromPlaceId(id)} />;
  if (thread !== undefined) return <ThreadOfOwner key={`${user} ${thread}`} userId={user} threadId={thread} />;
  return list === 'threads' ? <AllThreads /> : <AllRuns />;
}
