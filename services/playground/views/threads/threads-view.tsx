/** A view. */
export function ThreadsView() {
  return <h1>Threads</h1>;
}
