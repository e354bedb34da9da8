/**
 * Prints `N passed, N failed` (`, N skipped`) as the very last line: people and CI read one line. A suite that failed to
 * run counts as one failure, since none of its tests is counted.
 */
export default class ClosingLine {
  onRunComplete(_contexts, results) {
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const skipped = results.numPendingTests + results.numTodoTests;
    const line = `${results.numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
    // At exit, so that neither the summary nor the global teardown comes after it.
    process.on('exit', () => process.stdout.write(`${line}\n`));
  }
}
