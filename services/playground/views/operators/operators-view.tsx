import { route } from '../../session/route.ts';
import { isOperator, me } from '../../session/me.ts';
import { Blank } from '../../ui/patterns/blank.tsx';
import { RawOnFault } from '../../ui/patterns/raw-on-fault.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { AllRuns } from './all-runs.tsx';
import { fromPlaceId } from './of-owner.ts';
import { RunOfOwner } from './run-of-owner.tsx';

/** The runs of everybody, for those whose role lets them see these. Contents are masked. */
export function OperatorsView() {
  const { id } = route.value;
  if (me.value === undefined) return <Skeleton rows={8} />;
  if (!isOperator())
    return (
      <>
        <h1 class="unseen">Operators</h1>
        <Blank
          title="This is for operators"
          text="A role of service.json lets its holders see the runs of everybody."
        />
      </>
    );
  return (
    <RawOnFault key={id}>{id === undefined ? <AllRuns /> : <RunOfOwner key={id} {...fromPlaceId(id)} />}</RawOnFault>
  );
}
