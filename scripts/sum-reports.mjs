// Adds up the JSON reports of all suites; the last line is plain: 'N passed, N failed'. --unreported=N: this many
// stages failed without a report, and each counts as a failure.
import { readFileSync } from "node:fs";

const [flag, ...files] = process.argv.slice(2);
const totals = { passed: 0, failed: Number(flag?.split("=")[1] ?? 0) };
for (const file of files) {
  const report = JSON.parse(readFileSync(file, "utf8"));
  totals.passed += report.numPassedTests;
  // A file that could not be loaded has no failed test, but counts as a failure.
  const brokenFiles = report.testResults.filter(
    (result) => result.status === "failed" && !result.assertionResults.some(({ status }) => status === "failed"),
  );
  totals.failed += report.numFailedTests + brokenFiles.length;
  if (report.numPendingTests + report.numTodoTests > 0) {
    console.log(`${file}: ${report.numPendingTests + report.numTodoTests} tests were skipped`);
    totals.failed += 1;
  }
}
console.log(`${totals.passed} passed, ${totals.failed} failed`);
process.exit(totals.passed > 0 && totals.failed === 0 ? 0 : 1);
