/** A view. */
export function RunsView() {
  return <h1>Runs</h1>;
}
