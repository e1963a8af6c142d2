import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Properties;

/** Reads attempts to log in, one a line, and writes what pgjdbc says: user, SQLSTATE and message between tabs. */
public class Login {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] fields = line.split("\t", -1);
            String url = "jdbc:postgresql://" + fields[0] + ":" + fields[1] + "/" + fields[4];
            try (Connection connection = DriverManager.getConnection(url, properties(fields))) {
                ResultSet rows = connection.createStatement().executeQuery("SELECT current_user");
                rows.next();
                System.out.println(rows.getString(1) + "\t\t");
            } catch (SQLException error) {
                System.out.println("\t" + error.getSQLState() + "\t" + error.getMessage().replaceAll("\\s+", " "));
            }
        }
    }

    private static Properties properties(String[] fields) {
        Properties properties = new Properties();
        properties.setProperty("user", fields[2]);
        properties.setProperty("password", fields[3]);
        boolean verified = !fields[6].isEmpty();
        properties.setProperty("sslmode", !fields[5].equals("true") ? "disable" : verified ? "verify-full" : "require");
        if (verified) {
            properties.setProperty("sslrootcert", fields[6]);
        }
        if (!fields[7].isEmpty()) {
            properties.setProperty("sslcert", fields[7] + ".crt");
            properties.setProperty("sslkey", fields[7] + ".pk8");
        }
        return properties;
    }
}
