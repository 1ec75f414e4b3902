import { effect } from "@preact/signals";
import { render } from "preact";
import { Application } from "./parts/application.tsx";
import { Banner, Bar, SignIn, Toast } from "./parts/frame.tsx";
import { Applications, Fleet } from "./parts/overview.tsx";
import { application, isStale, route, session, start, watch } from "./state.ts";

function Page() {
  const to = route.value;
  switch (to.page) {
    case "applications":
      return <Applications />;
    case "fleet":
      return <Fleet />;
    case "application":
      return <Application namespace={to.namespace} name={to.name} />;
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
      <main id="main" tabIndex={-1} class={isStale.value ? "stale" : ""}>
        <Page />
      </main>
      <Toast />
    </>
  );
}

const root = document.getElementById("app");
if (root) render(<App />, root);

effect(() => {
  if (session.value.kind === "in") watch(route.value);
});
effect(() => {
  const to = route.value;
  const phase = application.value?.phase;
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
void start();
