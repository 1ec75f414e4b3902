import { effect } from "@preact/signals";
import { render } from "preact";
import { Question } from "./parts/actions.tsx";
import { Application } from "./parts/application.tsx";
import { Distribution } from "./parts/distribution.tsx";
import { Fleet } from "./parts/fleet.tsx";
import { Banner, Bar, SignIn, Toast } from "./parts/frame.tsx";
import { Job } from "./parts/job.tsx";
import { Applications } from "./parts/overview.tsx";
import { exported, ReplayPage } from "./parts/replay.tsx";
import { application, distribution, isEmpty, isStale, job, route, session, start, watch } from "./state.ts";

function Page() {
  const to = route.value;
  switch (to.page) {
    case "applications":
      return <Applications />;
    case "fleet":
      return <Fleet />;
    case "application":
      return to.type === "ccs" ? (
        <Application at={to} />
      ) : to.type === "dapp" ? (
        <Distribution at={to} />
      ) : (
        <Job at={to} />
      );
  }
}

function App() {
  const signedIn = session.value;
  if (signedIn.kind === "asking") return <p class="loading">Connecting ...</p>;
  if (signedIn.kind === "out") return <SignIn message={signedIn.message} />;
  return (
    <>
      <Bar />
      <Banner />
      <main id="main" tabIndex={-1} class={isStale.value && !isEmpty.value ? "stale" : ""}>
        <Page />
      </main>
      <Question />
      <Toast />
    </>
  );
}

const root = document.getElementById("app");
/** A rollout that was saved as a file: there is no server. */
const saved = exported();
if (root) render(saved ? <ReplayPage saved={saved} /> : <App />, root);

effect(() => {
  if (session.value.kind === "in") watch(route.value);
});
effect(() => {
  if (saved) return;
  const to = route.value;
  const phase = (application.value ?? distribution.value ?? job.value)?.phase;
  document.title =
    to.page === "application" ? `${to.name}${phase === undefined ? "" : `: ${phase}`} - Lockstep` : "Lockstep";
});
addEventListener("keydown", (event) => {
  const target = event.target;
  if (event.key !== "/" || target instanceof HTMLInputElement || target instanceof HTMLSelectElement) return;
  const search = document.getElementById("search");
  if (search) {
    event.preventDefault();
    search.focus();
  }
});
if (!saved) void start();
