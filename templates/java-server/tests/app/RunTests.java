package app;

import java.util.LinkedHashMap;
import java.util.Map;

/** Runs the tests of this folder against a sandbox: `npm test` starts one for them. */
final class RunTests {
    interface Test {
        void run() throws Exception;
    }

    private RunTests() {}

    public static void main(String[] args) throws Exception {
        var server = new Server(Sandbox.SETTINGS, 0);
        server.start();
        var tests = new LinkedHashMap<String, Test>();
        tests.putAll(new ServerTest(server.port()).tests());
        tests.putAll(UnitTest.tests());
        var failed = 0;
        for (var test : tests.entrySet()) {
            try {
                test.getValue().run();
                System.out.println("ok      " + test.getKey());
            } catch (Exception | AssertionError error) {
                failed++;
                System.out.println("FAILED  " + test.getKey());
                error.printStackTrace(System.out);
            }
            Sandbox.control("DELETE", "faults", Map.of());
            Sandbox.control("DELETE", "scenarios", Map.of());
        }
        server.stop();
        System.out.printf("%d passed, %d failed%n", tests.size() - failed, failed);
        System.exit(failed > 0 ? 1 : 0);
    }
}
